"""Vectors of queries and of entities, as the kernels take them: fetched from a scorer, with norms and roundings.

``engine`` fetches them for each block of queries and chunk of candidates; kernels and collectors take them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray, IntArray
from kgeval.base.errors import ScoreError
from kgeval.base.threads import parallel_for, slices
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.models.scorer import VectorScorer, as_float64, entity_arrays, query_arrays
from kgeval.models.similarity import Similarity, unit

if TYPE_CHECKING:  # numba is loaded when something is ranked, not before
    from kgeval.ranking.kernels.rounding import Precision, Rounded


STORED = (np.float16, np.float32, np.float64)
"""the precisions that entity vectors are ranked in; other numbers become float64"""

QUERY_VECTOR_BATCH = 2048
"""the number of queries whose vectors a scorer computes at a time"""


@dataclass(frozen=True, eq=False)
class QueryVectors:
    """Queries as numbers: their vectors, and the number that is added to all scores of a query."""

    similarity: Similarity
    vectors: Float64Array
    """float64[query, dim]"""
    offsets: Float64Array
    """float64[query], the number that is added to all scores of the query"""

    def __getitem__(self, part: slice) -> QueryVectors:
        return QueryVectors(self.similarity, self.vectors[part], self.offsets[part])

    @cached_property
    def norms(self) -> Float64Array:
        """The norms of the vectors, sums of absolute values or Euclid's, as rounding errors add up; float64[query]."""
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

        return round_rows(self.vectors, np.arange(len(self.vectors)), precision=precision, manhattan=self._manhattan)

    @property
    def _manhattan(self) -> bool:
        """Whether rounding errors add up as sums of absolute values, and not as Euclid's norm."""
        return self.similarity in {"l1", "modulus"}


@dataclass(frozen=True, eq=False)
class EntityVectors:
    """Entities as numbers: their vectors, and the number that is added to each score of an entity."""

    vectors: FloatArray
    """float[entity, dim], in the precision they are stored in"""
    biases: Float64Array
    """float64[entity], the number that is added to each score of the entity"""

    def __getitem__(self, ids: slice | IntArray) -> EntityVectors:
        return EntityVectors(self.vectors[ids], self.biases[ids])

    @cached_property
    def norms(self) -> Float64Array:
        """Euclid's norms of the vectors; float64[entity]."""
        from kgeval.ranking.kernels.rounding import norms_of

        return norms_of(self.vectors, manhattan=False)


def fetch_query_vectors(scorer: VectorScorer, queries: Queries) -> QueryVectors:
    """Compute the vectors of queries, in float64; unit vectors where they are compared by cosine."""
    # The error bounds hold for float64 queries, whatever precision a scorer returns. A formula makes several arrays of
    # the size of its result, so it computes a part at a time.
    batches = [*slices(len(queries), QUERY_VECTOR_BATCH)]
    parts: list[Any] = [None] * len(batches)

    def compute(numbers: slice) -> None:
        parts[numbers] = [query_arrays(scorer, queries[batch]) for batch in batches[numbers]]

    parallel_for(compute, len(batches), 1 if scorer.concurrent else len(batches))
    for part, _ in parts[1:]:
        if part.shape[1] != parts[0][0].shape[1]:
            widths = f"{parts[0][0].shape[1]} dimensions for some queries, {part.shape[1]} for others"
            raise ScoreError(f"the scorer's query vectors have {widths}: they must have the same width.")
    vectors, offsets = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    if scorer.similarity == "cosine":
        return QueryVectors("dot", unit(vectors), offsets)
    return QueryVectors(scorer.similarity, vectors, offsets)


def fetch_entity_vectors(scorer: VectorScorer, side: Side, ids: IntArray) -> EntityVectors:
    """Fetch the vectors of entities, in the precision they are stored in where the kernels have it."""
    vectors, biases = entity_arrays(scorer, side, ids)
    if vectors.dtype not in STORED:
        vectors = as_float64(vectors, "the scorer's entity vectors")
    if scorer.similarity == "cosine":
        return EntityVectors(unit(vectors), biases)
    # numba has no float16; float32 holds each of its values exactly.
    return EntityVectors(vectors.astype(np.float32) if vectors.dtype == np.float16 else vectors, biases)


def gather_unique_entities(scorer: VectorScorer, side: Side, ids: IntArray) -> tuple[EntityVectors, IntArray]:
    """Fetch the vectors of ``ids``, each entity once if that is less work; return them, and the row of each id."""
    if len(ids) <= ids.max(initial=0):
        return fetch_entity_vectors(scorer, side, ids), np.arange(len(ids))
    present = np.zeros(ids.max() + 1, np.bool_)
    present[ids] = True
    unique = np.flatnonzero(present)
    return fetch_entity_vectors(scorer, side, unique), (np.cumsum(present) - 1)[ids]
