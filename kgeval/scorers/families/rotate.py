"""RotatE: a relation is a rotation of complex numbers (Sun et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.graph.queries import Queries
from kgeval.scorers.family import Family, rows64
from kgeval.scorers.halves import multiply
from kgeval.scorers.similarity import Similarity


@dataclass(frozen=True, eq=False)
class RotatE(Family):
    """score(h, r, t) = −‖h∘r − t‖_p of complex vectors, |r_k| = 1.

    ``norm=1`` sums the moduli, as the original code does; ``norm=2`` is the Euclidean norm, as PyKEEN's. Entities are
    stored as halves [re | im]; relations likewise, or as phases in radians (half as wide as the entities). A head query
    rotates back by conj(r), which inverts r exactly where |r_k| = 1.

    Sun et al.: RotatE: Knowledge Graph Embedding by Relational Rotation in Complex Space, ICLR 2019.
    """

    name: ClassVar[str] = "RotatE"
    formula: ClassVar[str] = "−‖h∘r − t‖_p, complex, |r| = 1"

    norm: Literal[1, 2]
    """1: the sum of the moduli; 2: the Euclidean norm"""

    def __post_init__(self) -> None:
        super().__post_init__()
        entity, relation = self.entity.shape[1], self.relation.shape[1]
        self.require(entity % 2 == 0, "complex vectors are stored as halves [re | im] of an even width")
        self.require(relation in {entity, entity // 2}, "relation must be as wide as entity, or half (phases)")

    @property
    def similarity(self) -> Similarity:
        """The distance that the norm measures."""
        return "modulus" if self.norm == 1 else "l2"

    @cached_property
    def rotations(self) -> Float64Array:
        """The relations as halves [cos | sin], made once for all so that no batch can change a bit of them."""
        relation = np.asarray(self.relation, np.float64)
        if relation.shape[1] == self.entity.shape[1]:
            return relation
        return np.concatenate([np.cos(relation), np.sin(relation)], axis=1)

    def query_vectors(self, queries: Queries) -> Float64Array:
        """h∘r for a tail query; conj(r)∘t for a head query."""
        anchors = rows64(self.entity, queries.anchors)
        return multiply(anchors, self.rotations[queries.relations], conjugate=queries.side == "head")
