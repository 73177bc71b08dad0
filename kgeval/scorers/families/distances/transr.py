"""TransR: a relation has a space of its own, into which a matrix takes the entities (Lin et al., 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.ordered import matmul_ordered
from kgeval.scorers.translation import ProjectedTranslation


@dataclass(frozen=True, eq=False)
class TransR(ProjectedTranslation):
    """score(h, r, t) = −‖h P_r + r − t P_r‖_p.

    Lin et al.: Learning Entity and Relation Embeddings for Knowledge Graph Completion, AAAI 2015.
    """

    name: ClassVar[str] = "TransR"
    formula: ClassVar[str] = "−‖h P_r + r − t P_r‖_p"

    projection: FloatArray
    """float[relation, entity width × relation width], each row a matrix, row by row"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expected = (len(self.relation), self.entity.shape[1] * self.relation.shape[1])
        self.require(
            self.projection.shape == expected, "projection must be an entity width × relation width matrix a row"
        )

    def project(self, ids: IntArray, relation: int) -> Float64Array:
        """Project entities into the relation's space: e P_r."""
        return matmul_ordered(
            rows64(self.entity, ids), rows64(self.projection, relation).reshape(self.entity.shape[1], -1)
        )
