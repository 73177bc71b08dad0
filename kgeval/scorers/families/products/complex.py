"""ComplEx: a relation is a complex diagonal bilinear form (Trouillon et al., 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kgeval.arrays import Float64Array
from kgeval.data.queries import Queries
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.numerics.complex_halves import multiply
from kgeval.scorers.numerics.similarity import Similarity


@dataclass(frozen=True, eq=False)
class ComplEx(VectorFamily):
    """score(h, r, t) = Re Σ_k h_k r_k conj(t_k), complex vectors stored as halves [re | im].

    Trouillon et al.: Complex Embeddings for Simple Link Prediction, ICML 2016.
    """

    name: ClassVar[str] = "ComplEx"
    formula: ClassVar[str] = "Re Σ h r conj(t)"
    similarity: ClassVar[Similarity] = "dot"
    equal_widths: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.entity.shape[1] % 2 == 0, "complex vectors are stored as halves [re | im] of an even width")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Multiply the anchor by the relation: h r for a tail query, conj(r) t for a head query."""
        return multiply(
            rows64(self.entity, queries.anchors),
            rows64(self.relation, queries.relations),
            conjugate=queries.side == "head",
        )
