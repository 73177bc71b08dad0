"""DistMult: a relation is a diagonal bilinear form (Yang et al., 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kgeval.arrays import Float64Array
from kgeval.data.queries import Queries
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.numerics.similarity import Similarity


@dataclass(frozen=True, eq=False)
class DistMult(VectorFamily):
    """score(h, r, t) = Σ_k h_k r_k t_k.

    Yang et al.: Embedding Entities and Relations for Learning and Inference in Knowledge Bases, ICLR 2015.
    """

    name: ClassVar[str] = "DistMult"
    formula: ClassVar[str] = "Σ h r t"
    similarity: ClassVar[Similarity] = "dot"
    equal_widths: ClassVar[bool] = True

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Multiply the anchor by the relation: h∘r or r∘t; the form is symmetric."""
        return rows64(self.entity, queries.anchors) * rows64(self.relation, queries.relations)
