"""Vectors of queries and of entities as the kernels take them, with their norms and their roundings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.ranking.plan import Precision
from kgeval.scorers.numerics.similarity import Similarity

if TYPE_CHECKING:  # numba is loaded when something is ranked, not before
    from kgeval.ranking.kernels.rounding import Rounded


@dataclass(frozen=True, eq=False)
class QueryVectors:
    """Queries as numbers: their vectors, and what is added to all their scores."""

    similarity: Similarity
    vectors: Float64Array
    """float64[query, dim]"""
    offsets: Float64Array
    """float64[query]"""

    def __getitem__(self, part: slice) -> QueryVectors:
        return QueryVectors(self.similarity, self.vectors[part], self.offsets[part])

    @cached_property
    def norms(self) -> Float64Array:
        """How large the vectors are, in the norm that their rounding is measured in; float64[query]."""
        from kgeval.ranking.kernels.rounding import norms_of

        return norms_of(self.vectors, manhattan=self._manhattan)

    @cached_property
    def float32(self) -> Rounded:
        return self._rounded("float32")

    @cached_property
    def bfloat16(self) -> Rounded:
        return self._rounded("bfloat16")

    def _rounded(self, precision: Precision) -> Rounded:
        from kgeval.ranking.kernels.rounding import round_rows

        order = np.arange(len(self.vectors))
        return round_rows(self.vectors, order, precision=precision, manhattan=self._manhattan)

    @property
    def _manhattan(self) -> bool:
        """Whether errors add up as sums of absolute values, and not as Euclid's norm."""
        return self.similarity in {"l1", "modulus"}


@dataclass(frozen=True, eq=False)
class EntityVectors:
    """Entities as numbers: their vectors, and what is added to their scores."""

    vectors: FloatArray
    """float[entity, dim], in the precision they are stored in"""
    biases: Float64Array
    """float64[entity]"""

    def __getitem__(self, ids: slice | IntArray) -> EntityVectors:
        return EntityVectors(self.vectors[ids], self.biases[ids])

    @cached_property
    def norms(self) -> Float64Array:
        """Euclid's norms of the vectors; float64[entity]."""
        from kgeval.ranking.kernels.rounding import norms_of

        return norms_of(self.vectors, manhattan=False)
