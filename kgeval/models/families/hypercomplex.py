"""Families in other algebras: quaternions, Clifford algebras, and functions on an interval.

Readers of checkpoints make these models of stored arrays; ``kgeval/models/family.py`` explains their methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.models.family import ProductFamily, rows64
from kgeval.models.ordered import weighted_sum
from kgeval.models.similarity import dot_rows

POINTS = 100
"""the number of evenly spaced points of the trapezoidal rule"""


class QuatE(ProductFamily):
    """score(h, r, t) = (h ⊗ r) · t, ⊗ the Hamilton product; quaternions are stored as quarters [1 | i | j | k].

    The relations are used as they are stored: a reader normalises them where its framework does.
    Zhang et al.: Quaternion Knowledge Graph Embeddings, NeurIPS 2019.
    """

    formula: ClassVar[str] = "(h ⊗ r) · t, quaternions"
    equal_widths: ClassVar[bool] = True

    def check_shapes(self) -> None:
        self.require(self.entity.shape[1] % 4 == 0, "quaternions are stored as quarters: the width is a multiple of 4")

    def query_vectors(self, queries: Queries) -> Float64Array:
        a1, b1, c1, d1 = np.split(rows64(self.entity, queries.anchors), 4, axis=1)
        a2, b2, c2, d2 = np.split(rows64(self.relation, queries.relations), 4, axis=1)
        if queries.side == "head":
            b2, c2, d2 = -b2, -c2, -d2
        return np.concatenate(
            [
                a1 * a2 - b1 * b2 - c1 * c2 - d1 * d2,
                a1 * b2 + b1 * a2 + c1 * d2 - d1 * c2,
                a1 * c2 - b1 * d2 + c1 * a2 + d1 * b2,
                a1 * d2 + b1 * c2 - c1 * b2 + d1 * a2,
            ],
            axis=1,
        )


@dataclass(frozen=True, eq=False)
class Keci(ProductFamily):
    """score(h, r, t) = (h r) · t in Cl_{p,q}, of multivectors x_0 + Σ_i x_i e_i with e_i² = 1 for the first p, else −1.

    Vectors are stored as 1 + p + q blocks [x_0 | x_1 | …]; the blocks of h and r (not of t) are scaled by the
    coefficients c_i. The parts of the product in e_i e_k, which meet nothing in t, are added to the score: the parts of
    i, k ≤ p, the parts of i, k > p, and the parts of i ≤ p < k if p and q are at least 2.
    Demir and Ngonga Ngomo: Clifford Embeddings – A Generalized Approach for Embedding in Normed Algebras, ECML 2023.
    """

    formula: ClassVar[str] = "(h r) · t, multivectors of Cl_(p,q)"
    equal_widths: ClassVar[bool] = True

    coefficients: FloatArray
    """float[p + q], c"""
    p: int
    """how many e_i have the square 1; the others have −1"""

    def check_shapes(self) -> None:
        self.require(self.coefficients.ndim == 1 and 0 <= self.p <= len(self.coefficients), "p is at most p + q")
        blocks = 1 + len(self.coefficients)
        self.require(self.entity.shape[1] % blocks == 0, "the width must be a multiple of 1 + p + q")

    def query_vectors(self, queries: Queries) -> Float64Array:
        anchors, relation = self._blocks(self.entity, queries.anchors), self._scaled(self.relation, queries.relations)
        c = np.asarray(self.coefficients, np.float64)[:, None, None]
        squares = np.where(np.arange(len(c)) < self.p, 1.0, -1.0)[:, None, None]
        if queries.side == "tail":
            head = np.concatenate([anchors[:1], c * anchors[1:]])
            real = weighted_sum(np.concatenate([np.ones_like(squares[:1]), squares]), head * relation)
            rest = head[0] * relation[1:] + head[1:] * relation[0]
        else:
            real = weighted_sum(np.ones(len(anchors)), anchors * relation)
            rest = c * (squares * relation[1:] * anchors[0] + relation[0] * anchors[1:] + self._across(relation[1:]))
        return np.concatenate([real, *rest], axis=1)

    def query_offsets(self, queries: Queries) -> Float64Array:
        if queries.side == "head" or not len(self.coefficients):
            return np.zeros(len(queries))
        head = self._scaled(self.entity, queries.anchors)[1:]
        relation = self._scaled(self.relation, queries.relations)[1:]
        return weighted_sum(np.ones(len(head)), dot_rows(head, self._across(relation)))

    def _across(self, relation: Float64Array) -> Float64Array:
        """Σ_{k > i} r_k − Σ_{k < i} r_k for each i, over the pairs whose parts count; float64[p + q, row, dim]."""
        count, p = len(relation), self.p
        mixed = p >= 2 and count - p >= 2
        sums = np.zeros_like(relation)
        for i in range(count):
            for k in range(count):
                if i != k and (mixed or (i < p) == (k < p)):
                    sums[i] = sums[i] + relation[k] if k > i else sums[i] - relation[k]
        return sums

    def _blocks(self, array: FloatArray, ids: IntArray) -> Float64Array:
        """Rows as blocks; float64[1 + p + q, row, dim]."""
        return np.stack(np.split(rows64(array, ids), 1 + len(self.coefficients), axis=1))

    def _scaled(self, array: FloatArray, ids: IntArray) -> Float64Array:
        blocks = self._blocks(array, ids)
        return np.concatenate([blocks[:1], np.asarray(self.coefficients, np.float64)[:, None, None] * blocks[1:]])


@dataclass(frozen=True, eq=False)
class LFMult(ProductFamily):
    """score(h, r, t) = ∫₀¹ Σ_k tanh(h_k x + h'_k) tanh(r_k x + r'_k) tanh(t_k x + t'_k) dx, by the trapezoidal rule.

    A row holds degree + 1 parts of one length; the first are the slopes h, the second the shifts h', and further parts
    are not used. Head and tail can be swapped.
    Kamdem Teyou, Demir and Ngonga Ngomo: Embedding Knowledge Graphs in Function Spaces, 2024.
    """

    formula: ClassVar[str] = "∫ Σ tanh(h x + h') tanh(r x + r') tanh(t x + t') dx, x from 0 to 1"
    equal_widths: ClassVar[bool] = True

    degree: int
    """how many parts a row has besides the first"""

    def check_shapes(self) -> None:
        parts = self.degree + 1
        self.require(parts > 1 and self.entity.shape[1] % parts == 0, f"rows must have at least two of {parts} parts")

    def query_vectors(self, queries: Queries) -> Float64Array:
        step = np.full(POINTS, 1.0 / (POINTS - 1))
        step[[0, -1]] /= 2
        anchors, relations = self._values(self.entity, queries.anchors), self._values(self.relation, queries.relations)
        return np.asarray((anchors * relations * step).reshape(len(queries), -1))

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        return self._values(self.entity, ids).reshape(len(ids), -1)

    def _values(self, table: FloatArray, ids: IntArray) -> Float64Array:
        """Evaluate the network of each row; float64[row, part of the row, point]."""
        slopes, shifts = np.split(rows64(table, ids), self.degree + 1, axis=1)[:2]
        return np.tanh(slopes[..., None] * np.linspace(0.0, 1.0, POINTS) + shifts[..., None])
