"""TransD: the projection of an entity depends on the entity and the relation (Ji et al., 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.ordered import dot_rows
from kgeval.scorers.translation import ProjectedTranslation


@dataclass(frozen=True, eq=False)
class TransD(ProjectedTranslation):
    """score(h, r, t) = −‖P_r(h) + r − P_r(t)‖_p, P_r(e) = e + (e' · e) r', e cut or filled with zeros to r's width.

    Ji et al.: Knowledge Graph Embedding via Dynamic Mapping Matrix, ACL 2015.
    """

    name: ClassVar[str] = "TransD"
    formula: ClassVar[str] = "−‖(h + (h'·h)r') + r − (t + (t'·t)r')‖_p"

    entity_transfer: FloatArray
    """float[entity, entity width]"""
    relation_transfer: FloatArray
    """float[relation, relation width]"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.entity_transfer.shape == self.entity.shape, "entity_transfer must have the shape of entity")
        same = self.relation_transfer.shape == self.relation.shape
        self.require(same, "relation_transfer must have the shape of relation")

    def project(self, ids: IntArray, relation: int) -> Float64Array:
        """Project entities by their own vectors and the relation's: e + (e' · e) r'."""
        entities, transfer = rows64(self.entity, ids), rows64(self.relation_transfer, relation)
        projected = dot_rows(rows64(self.entity_transfer, ids), entities)[:, None] * transfer
        width = min(entities.shape[1], len(transfer))
        return np.concatenate([projected[:, :width] + entities[:, :width], projected[:, width:]], axis=1)
