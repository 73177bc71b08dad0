"""PairRE: a relation stretches head and tail, each by its own vector (Chao et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.similarity import NormDistance
from kgeval.scorers.relational import RelationalFamily


@dataclass(frozen=True, eq=False)
class PairRE(NormDistance, RelationalFamily):
    """score(h, r, t) = −‖h∘r − t∘r'‖_p, relations stored as halves [for heads | for tails].

    The entities are used as they are stored: a reader normalises them where its framework does.
    Chao et al.: PairRE: Knowledge Graph Embeddings via Paired Relation Vectors, ACL 2021.
    """

    name: ClassVar[str] = "PairRE"
    formula: ClassVar[str] = "−‖h∘r − t∘r'‖_p"

    norm: Literal[1, 2]
    """the p of the norm"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.relation.shape[1] == 2 * self.entity.shape[1], "relation must be twice as wide as entity")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Stretch the anchor: h∘r for a tail query, t∘r' for a head query."""
        side: Side = "head" if queries.side == "tail" else "tail"
        return rows64(self.entity, queries.anchors) * self._half(side, queries.relations)

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        """Stretch entities: e∘r as heads, e∘r' as tails."""
        return rows64(self.entity, ids) * self._half(side, np.array([relation]))

    def _half(self, side: Side, relations: IntArray) -> Float64Array:
        forward, backward = np.split(rows64(self.relation, relations), 2, axis=1)
        return forward if side == "head" else backward
