"""Translations between projected entities: what TransH, TransR and TransD have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.ordered import unit, within_ball
from kgeval.scorers.numerics.similarity import Similarity
from kgeval.scorers.relational import RelationalFamily


@dataclass(frozen=True, eq=False)
class ProjectedTranslation(RelationalFamily):
    """score(h, r, t) = −‖P_r(h) + r − P_r(t)‖_p, P_r the projection that a family defines."""

    norm: Literal[1, 2]
    """the p of the norm"""
    length: Literal["free", "unit", "ball"]
    """projected entities are taken as they are, scaled to length 1, or shortened to norm 1 (of that p) if it is more"""

    @abstractmethod
    def project(self, ids: IntArray, relation: int) -> Float64Array:
        """Project entities as one relation does; float64[id, relation width]."""

    @property
    def similarity(self) -> Similarity:
        """The distance that the norm measures."""
        return "l1" if self.norm == 1 else "l2"

    def query_vectors(self, queries: Queries) -> Float64Array:
        """P(h) + r for a tail query, P(t) − r for a head query."""
        anchors = np.empty((len(queries), self.relation.shape[1]))
        for relation in np.unique(queries.relations):
            mine = queries.relations == relation
            anchors[mine] = self.candidate_vectors(queries.side, int(relation), queries.anchors[mine])
        relations = rows64(self.relation, queries.relations)
        return anchors + relations if queries.side == "tail" else anchors - relations

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        """P(e), of the length that it may have."""
        projected = self.project(ids, relation)
        if self.length == "free":
            return projected
        return unit(projected) if self.length == "unit" else within_ball(projected, self.norm)
