"""Projections: TransH, TransR and TransD translate between entities that the relation projects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.scorers.family import rows64
from kgeval.scorers.family_bases import ProjectedTranslation
from kgeval.scorers.numerics.ordered import matmul_ordered
from kgeval.scorers.numerics.similarity import dot_rows


@dataclass(frozen=True, eq=False)
class TransH(ProjectedTranslation):
    """score(h, r, t) = −‖P_r(h) + r − P_r(t)‖_p, P_r(e) = e − (w_r · e) w_r.

    Wang et al.: Knowledge Graph Embedding by Translating on Hyperplanes, AAAI 2014.
    """

    formula: ClassVar[str] = "−‖(h − (w·h)w) + r − (t − (w·t)w)‖_p"
    equal_widths: ClassVar[bool] = True

    normal: FloatArray
    """float[relation, width], the normal vector of each hyperplane, of length 1"""

    def check_shapes(self) -> None:
        self.require_shapes(normal=self.relation.shape)

    def project(self, ids: IntArray, relation: int) -> Float64Array:
        entities, normal = rows64(self.entity, ids), rows64(self.normal, relation)
        return entities - dot_rows(entities, normal[None, :])[:, None] * normal


@dataclass(frozen=True, eq=False)
class TransR(ProjectedTranslation):
    """score(h, r, t) = −‖h P_r + r − t P_r‖_p.

    Lin et al.: Learning Entity and Relation Embeddings for Knowledge Graph Completion, AAAI 2015.
    """

    formula: ClassVar[str] = "−‖h P_r + r − t P_r‖_p"

    projection: FloatArray
    """float[relation, entity width × relation width], each row a matrix, row by row"""

    def check_shapes(self) -> None:
        self.require_shapes(projection=(len(self.relation), self.entity.shape[1] * self.relation.shape[1]))

    def project(self, ids: IntArray, relation: int) -> Float64Array:
        matrix = rows64(self.projection, relation).reshape(self.entity.shape[1], -1)
        return matmul_ordered(rows64(self.entity, ids), matrix)


@dataclass(frozen=True, eq=False)
class TransD(ProjectedTranslation):
    """score(h, r, t) = −‖P_r(h) + r − P_r(t)‖_p, P_r(e) = e + (e' · e) r', e cut or filled with zeros to r's width.

    Ji et al.: Knowledge Graph Embedding via Dynamic Mapping Matrix, ACL 2015.
    """

    formula: ClassVar[str] = "−‖(h + (h'·h)r') + r − (t + (t'·t)r')‖_p"

    entity_transfer: FloatArray
    """float[entity, entity width]"""
    relation_transfer: FloatArray
    """float[relation, relation width]"""

    def check_shapes(self) -> None:
        self.require_shapes(entity_transfer=self.entity.shape, relation_transfer=self.relation.shape)

    def project(self, ids: IntArray, relation: int) -> Float64Array:
        entities, transfer = rows64(self.entity, ids), rows64(self.relation_transfer, relation)
        projected = dot_rows(rows64(self.entity_transfer, ids), entities)[:, None] * transfer
        width = min(entities.shape[1], len(transfer))
        return np.concatenate([projected[:, :width] + entities[:, :width], projected[:, width:]], axis=1)
