"""MultiLinearTucker: one core tensor mixes head, relation and tail, each from a table of its own (Tucker, 1966)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.family import VectorFamily, by_relation, rows64
from kgeval.scorers.numerics.ordered import matmul_ordered, weighted_sum
from kgeval.scorers.numerics.similarity import Similarity


@dataclass(frozen=True, eq=False)
class MultiLinearTucker(VectorFamily):
    """score(h, r, t) = W ×₁ h ×₂ r ×₃ t', entities stored as [as head | as tail].

    Tucker: Some Mathematical Notes on Three-Mode Factor Analysis, Psychometrika 1966.
    """

    name: ClassVar[str] = "MultiLinearTucker"
    formula: ClassVar[str] = "W ×₁ h ×₂ r ×₃ t'"
    similarity: ClassVar[Similarity] = "dot"

    core: FloatArray
    """float[head width, relation width, tail width], W"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.core.ndim == 3, "core must be head width × relation width × tail width")
        head, relation, tail = self.core.shape
        widths = self.entity.shape[1] == head + tail and self.relation.shape[1] == relation
        self.require(widths, "core must be as wide as entity (as head, and as tail) and relation")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Mix the anchor with its relation's matrix M_r = Σ_j r_j W[:, j, :]: h M_r or M_r t'."""
        anchors = rows64(self._table("head" if queries.side == "tail" else "tail"), queries.anchors)

        def multiply(relation: int, part: BoolArray) -> Float64Array:
            weights = rows64(self.relation, relation)
            matrix = weighted_sum(weights, np.moveaxis(np.asarray(self.core, np.float64), 1, 0))
            return matmul_ordered(anchors[part], matrix if queries.side == "tail" else matrix.T)

        return by_relation(queries.relations, self.core.shape[2 if queries.side == "tail" else 0], multiply)

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return the vectors of entities as heads or as tails."""
        return self._table(side)[ids]

    def _table(self, side: Side) -> FloatArray:
        width = self.core.shape[0]
        return self.entity[:, :width] if side == "head" else self.entity[:, width:]
