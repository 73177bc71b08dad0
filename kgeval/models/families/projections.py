"""Families whose relation transforms entities before they are compared: TransH, TransR, TransD and BigGraph.

Readers of checkpoints make these models of stored arrays; ``kgeval/models/family.py`` explains their methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.triples import Side
from kgeval.models.family import ProjectedTranslation, RelationalFamily, rows64
from kgeval.models.ordered import complex_product, matmul_ordered, normalized
from kgeval.models.similarity import Similarity, dot_rows


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
    """the matrix P_r of each relation, row by row; float[relation, entity width × relation width]"""

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
    """the vector e' of each entity; float[entity, entity width]"""
    relation_transfer: FloatArray
    """the vector r' of each relation; float[relation, relation width]"""

    def check_shapes(self) -> None:
        self.require_shapes(entity_transfer=self.entity.shape, relation_transfer=self.relation.shape)

    def project(self, ids: IntArray, relation: int) -> Float64Array:
        entities, transfer = rows64(self.entity, ids), rows64(self.relation_transfer, relation)
        projected = dot_rows(rows64(self.entity_transfer, ids), entities)[:, None] * transfer
        width = min(entities.shape[1], len(transfer))
        return np.concatenate([projected[:, :width] + entities[:, :width], projected[:, width:]], axis=1)


Operator = Literal["none", "diagonal", "translation", "complex_diagonal", "linear", "affine"]


@dataclass(frozen=True, eq=False)
class BigGraph(RelationalFamily):
    """score(h, r, t) = c(g_r(h), t), or c(h, g_r(t)): the relation's operator g changes one entity, then c compares.

    A relation's row holds its operator: the diagonal, the translation, [re | im] of a complex diagonal, a matrix row by
    row, or (affine) a matrix and then a translation. If relations have operators of different kinds, the rest of a
    shorter row is not used. With a bias, column 0 of both entities, after the operator, is not compared but added to
    the score.
    Lerer et al.: PyTorch-BigGraph: A Large-scale Graph Embedding System, SysML 2019.
    """

    formula: ClassVar[str] = "c(g_r(h), t) or c(h, g_r(t))"

    operator: Operator | tuple[Operator, ...]
    """g, the same kind for all relations or one for each"""
    comparator: Literal["dot", "cos", "l2", "squared_l2"]
    """c; distances are negative"""
    operand: Literal["head", "tail"]
    """the side whose entity the operator changes"""
    bias: bool
    """whether column 0 is a bias"""

    def check_shapes(self) -> None:
        kinds, width = self.kinds, self.entity.shape[1]
        if isinstance(self.operator, tuple):
            fits = len(self.operator) == len(self.relation)
            self.require(fits, f"there must be as many relations as operators, which are {len(self.operator)}")
        widest = max(parameters(kind, width) for kind in kinds)
        fits = self.relation.shape[1] == widest or kinds == {"none"}
        self.require(fits, f"relation must hold one {' or '.join(sorted(kinds))} operator a row")
        self.require("complex_diagonal" not in kinds or width % 2 == 0, "complex vectors need an even width")

    @property
    def kinds(self) -> set[Operator]:
        return {*self.operator} if isinstance(self.operator, tuple) else {self.operator}

    @property
    def similarity(self) -> Similarity:
        return "dot" if self.comparator == "cos" else self.comparator

    def is_shared(self, side: Side) -> bool:
        return side != self.operand or self.kinds == {"none"}

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> FloatArray:
        rows = self._rows(side, ids, relation)
        vectors = rows[:, 1:] if self.bias else rows
        return normalized(vectors) if self.comparator == "cos" else vectors

    def candidate_biases(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        return self._rows(side, ids, relation)[:, 0] if self.bias else np.zeros(len(ids))

    def _rows(self, side: Side, ids: IntArray, relation: int) -> Float64Array:
        """Return the vectors of entities on one side, changed by the operator if it changes that side."""
        entities = rows64(self.entity, ids)
        kind = self.operator[relation] if isinstance(self.operator, tuple) else self.operator
        width = entities.shape[1]
        if side != self.operand or kind == "none":
            return entities
        row = rows64(self.relation, relation)[: parameters(kind, width)]
        if kind == "diagonal":
            return entities * row
        if kind == "translation":
            return entities + row
        if kind == "complex_diagonal":
            return complex_product(entities, np.broadcast_to(row, entities.shape))
        mixed = matmul_ordered(entities, row[: width * width].reshape(width, width).T)
        return mixed + row[width * width :] if kind == "affine" else mixed


def parameters(operator: Operator, width: int) -> int:
    """Count the numbers that an operator has for entities of a width.

    >>> parameters("affine", 3), parameters("none", 3)
    (12, 0)
    """
    return {"none": 0, "linear": width * width, "affine": width * width + width}.get(operator, width)
