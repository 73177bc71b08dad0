"""PyTorch-BigGraph's models: an operator on one entity, and a comparator (Lerer et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.family import by_relation, rows64
from kgeval.scorers.family_bases import RelationalFamily
from kgeval.scorers.numerics.ordered import matmul_ordered, multiply, unit
from kgeval.scorers.numerics.similarity import Similarity

Operator = Literal["none", "diagonal", "translation", "complex_diagonal", "linear", "affine"]


@dataclass(frozen=True, eq=False)
class BigGraph(RelationalFamily):
    """score(h, r, t) = c(g_r(h), t), or c(h, g_r(t)): one entity passes the relation's operator g, then both compare.

    A relation's row holds its operator: the diagonal, the translation, [re | im] of a complex diagonal, a matrix row by
    row, or (affine) a matrix and then a translation. Where relations have operators of different kinds, the rest of a
    row does not count. With a bias, column 0 of both entities, after the operator, is taken out and added to the score.
    Lerer et al.: PyTorch-BigGraph: A Large-scale Graph Embedding System, SysML 2019.
    """

    formula: ClassVar[str] = "c(g_r(h), t) or c(h, g_r(t))"

    operator: Operator | tuple[Operator, ...]
    """g, the same kind for all relations or one for each"""
    comparator: Literal["dot", "cos", "l2", "squared_l2"]
    """c; distances are negative"""
    operand: Literal["head", "tail"]
    """the side that passes the operator"""
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

    def query_vectors(self, queries: Queries) -> Float64Array:
        return self._compared(self._anchors(queries))

    def query_offsets(self, queries: Queries) -> Float64Array:
        return self._anchors(queries)[:, 0] if self.bias else np.zeros(len(queries))

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> FloatArray:
        return self._compared(self._rows(side, ids, relation))

    def candidate_biases(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        return self._rows(side, ids, relation)[:, 0] if self.bias else np.zeros(len(ids))

    def _anchors(self, queries: Queries) -> Float64Array:
        side: Side = "head" if queries.side == "tail" else "tail"
        return by_relation(
            queries.relations,
            self.entity.shape[1],
            lambda relation, part: self._rows(side, queries.anchors[part], relation),
        )

    def _compared(self, rows: Float64Array) -> Float64Array:
        vectors = rows[:, 1:] if self.bias else rows
        return unit(vectors) if self.comparator == "cos" else vectors

    def _rows(self, side: Side, ids: IntArray, relation: int) -> Float64Array:
        """Return entities on one side, after the operator where that side passes it."""
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
            return multiply(entities, np.broadcast_to(row, entities.shape))
        mixed = matmul_ordered(entities, row[: width * width].reshape(width, width).T)
        return mixed + row[width * width :] if kind == "affine" else mixed


def parameters(operator: Operator, width: int) -> int:
    """Count the numbers of an operator on entities of a width.

    >>> parameters("affine", 3), parameters("none", 3)
    (12, 0)
    """
    return {"none": 0, "linear": width * width, "affine": width * width + width}.get(operator, width)
