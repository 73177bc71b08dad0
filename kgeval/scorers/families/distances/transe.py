"""TransE: a relation is a translation (Bordes et al., 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from kgeval.arrays import Float64Array
from kgeval.data.queries import Queries
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.numerics.similarity import NormDistance


@dataclass(frozen=True, eq=False)
class TransE(NormDistance, VectorFamily):
    """score(h, r, t) = −‖h + r − t‖_p.

    Bordes et al.: Translating Embeddings for Modeling Multi-relational Data, NeurIPS 2013.
    """

    name: ClassVar[str] = "TransE"
    formula: ClassVar[str] = "−‖h + r − t‖_p"
    equal_widths: ClassVar[bool] = True

    norm: Literal[1, 2]
    """the p of the norm"""

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Move the anchor by the relation: h + r for a tail query, t − r for a head query."""
        anchors, relations = rows64(self.entity, queries.anchors), rows64(self.relation, queries.relations)
        return anchors + relations if queries.side == "tail" else anchors - relations
