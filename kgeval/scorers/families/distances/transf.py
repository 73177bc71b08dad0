"""TransF: how well the tail agrees with the moved head, and the head with the tail moved back (Feng et al., 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kgeval.arrays import Float64Array
from kgeval.data.queries import Queries
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.numerics.ordered import dot_rows
from kgeval.scorers.numerics.similarity import Similarity


@dataclass(frozen=True, eq=False)
class TransF(VectorFamily):
    """score(h, r, t) = (h + r)·t + h·(t − r).

    Feng, Huang, Wang, Zhou, Hao and Zhu: Knowledge Graph Embedding by Flexible Translation, KR 2016.
    """

    name: ClassVar[str] = "TransF"
    formula: ClassVar[str] = "(h + r)·t + h·(t − r)"
    similarity: ClassVar[Similarity] = "dot"
    equal_widths: ClassVar[bool] = True

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Double the anchor and move it by the relation: 2h + r or 2t − r."""
        doubled, relations = 2 * rows64(self.entity, queries.anchors), rows64(self.relation, queries.relations)
        return doubled + relations if queries.side == "tail" else doubled - relations

    def query_offsets(self, queries: Queries) -> Float64Array:
        """Return the part that all candidates share: −h·r or t·r."""
        product = dot_rows(rows64(self.entity, queries.anchors), rows64(self.relation, queries.relations))
        return -product if queries.side == "tail" else product
