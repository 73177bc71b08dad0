"""What TransH, TransR and TransD have in common: a translation between projected entities."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.family import by_relation, rows64
from kgeval.scorers.numerics.ordered import limit_norm, unit
from kgeval.scorers.numerics.similarity import NormDistance
from kgeval.scorers.relational import RelationalFamily


@dataclass(frozen=True, eq=False)
class ProjectedTranslation(NormDistance, RelationalFamily):
    """score(h, r, t) = −‖P_r(h) + r − P_r(t)‖_p, with the projection P_r that a family defines."""

    norm: Literal[1, 2]
    """the p of the norm"""
    normalization: Literal["none", "unit", "max_norm"]
    """what projected entities pass: nothing, a scaling to length 1, or one to norm 1 (of that p) if theirs is more"""

    @abstractmethod
    def project(self, ids: IntArray, relation: int) -> Float64Array:
        """Project entities as one relation does; float64[id, relation width]."""

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Project the anchor and move it: P(h) + r for a tail query, P(t) − r for a head query."""
        anchors = by_relation(
            queries.relations,
            self.relation.shape[1],
            lambda relation, part: self.candidate_vectors(queries.side, relation, queries.anchors[part]),
        )
        relations = rows64(self.relation, queries.relations)
        return anchors + relations if queries.side == "tail" else anchors - relations

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        """Project entities, and normalise them as the option says."""
        projected = self.project(ids, relation)
        if self.normalization == "none":
            return projected
        return unit(projected) if self.normalization == "unit" else limit_norm(projected, self.norm)
