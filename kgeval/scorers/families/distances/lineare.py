"""LineaRE: a relation stretches head and tail, each by its own vector, and adds a third (Peng and Zhang, 2020)."""

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
class LineaRE(NormDistance, RelationalFamily):
    """score(h, r, t) = −‖h∘r + b − t∘r'‖_p, relations stored as thirds [for heads | b | for tails].

    TripleRE (Yu et al., 2022) is the same with a number added to r and r'.
    Peng and Zhang: LineaRE: Simple but Powerful Knowledge Graph Embedding for Link Prediction, ICDM 2020.
    """

    name: ClassVar[str] = "LineaRE"
    formula: ClassVar[str] = "−‖h∘r + b − t∘r'‖_p"

    norm: Literal[1, 2]
    """the p of the norm"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(
            self.relation.shape[1] == 3 * self.entity.shape[1], "relation must be three times as wide as entity"
        )

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Stretch the anchor and move it: h∘r + b for a tail query, t∘r' − b for a head query."""
        forward, between, backward = np.split(rows64(self.relation, queries.relations), 3, axis=1)
        anchors = rows64(self.entity, queries.anchors)
        return anchors * forward + between if queries.side == "tail" else anchors * backward - between

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        """Stretch entities: e∘r as heads, e∘r' as tails."""
        forward, _, backward = np.split(rows64(self.relation, relation), 3)
        return rows64(self.entity, ids) * (forward if side == "head" else backward)
