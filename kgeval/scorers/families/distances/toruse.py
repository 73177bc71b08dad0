"""TorusE: a translation on a torus, where whole numbers are no distance (Ebisu and Ichise, 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.data.queries import Queries
from kgeval.scorers.block import ScoredFamily
from kgeval.scorers.family import rows64


@dataclass(frozen=True, eq=False)
class TorusE(ScoredFamily):
    """score(h, r, t) = −‖d‖_p, d how far each h_k + r_k − t_k is from the next whole number.

    Ebisu and Ichise: TorusE: Knowledge Graph Embedding on a Lie Group, AAAI 2018.
    """

    name: ClassVar[str] = "TorusE"
    formula: ClassVar[str] = "−‖h + r − t − [h + r − t]‖_p, [·] the next whole number"
    equal_widths: ClassVar[bool] = True
    by_dimension: ClassVar[bool] = True

    norm: Literal[1, 2]
    """the p of the norm"""

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Move the anchor: h + r or t − r."""
        anchors, relations = rows64(self.entity, queries.anchors), rows64(self.relation, queries.relations)
        return anchors + relations if queries.side == "tail" else anchors - relations

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        """Measure distances on the torus."""
        # Numba is loaded when something is scored, not before.
        from kgeval.scorers.numerics.torus_kernel import distances_on_torus

        distances = np.empty((len(queries), candidates.shape[1]))
        distances_on_torus(queries, candidates, self.norm == 2, distances)
        return -distances
