"""CP: entities as heads and as tails, in one trilinear form (Hitchcock, 1927; Lacroix et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.numerics.similarity import Similarity


@dataclass(frozen=True, eq=False)
class CP(VectorFamily):
    """score(h, r, t) = Σ_k h_k r_k t'_k, entities stored as halves [as head | as tail].

    Lacroix, Usunier and Obozinski: Canonical Tensor Decomposition for Knowledge Base Completion, ICML 2018.
    """

    name: ClassVar[str] = "CP"
    formula: ClassVar[str] = "Σ h r t'"
    similarity: ClassVar[Similarity] = "dot"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.entity.shape[1] == 2 * self.relation.shape[1], "entity must be twice as wide as relation")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Multiply the anchor by the relation: h∘r or r∘t'."""
        anchors = rows64(self._half("head" if queries.side == "tail" else "tail"), queries.anchors)
        return anchors * rows64(self.relation, queries.relations)

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return the vectors of entities as heads or as tails."""
        return self._half(side)[ids]

    def _half(self, side: Side) -> FloatArray:
        width = self.relation.shape[1]
        return self.entity[:, :width] if side == "head" else self.entity[:, width:]
