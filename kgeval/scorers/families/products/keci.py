"""Keci: products of multivectors in a Clifford algebra (Demir and Ngonga Ngomo, 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.numerics.ordered import dot_rows, weighted_sum
from kgeval.scorers.numerics.similarity import Similarity


@dataclass(frozen=True, eq=False)
class Keci(VectorFamily):
    """score(h, r, t) = (h r) · t in Cl_{p,q}, of multivectors x_0 + Σ_i x_i e_i with e_i² = 1 for the first p, else −1.

    Vectors are stored as 1 + p + q blocks [x_0 | x_1 | …]; the blocks of h and r (not of t) are scaled by the
    coefficients c_i. The parts of the product in e_i e_k, which meet nothing in t, are added to the score: those of
    i, k ≤ p, those of i, k > p, and those across where p and q are at least 2.
    Demir and Ngonga Ngomo: Clifford Embeddings – A Generalized Approach for Embedding in Normed Algebras, ECML 2023.
    """

    name: ClassVar[str] = "Keci"
    formula: ClassVar[str] = "(h r) · t, multivectors of Cl_(p,q)"
    similarity: ClassVar[Similarity] = "dot"
    equal_widths: ClassVar[bool] = True

    coefficients: FloatArray
    """float[p + q], c"""
    p: int
    """how many e_i have the square 1; the others have −1"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.coefficients.ndim == 1 and 0 <= self.p <= len(self.coefficients), "p is at most p + q")
        blocks = 1 + len(self.coefficients)
        self.require(self.entity.shape[1] % blocks == 0, "the width must be a multiple of 1 + p + q")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Multiply the anchor by the relation: h r for a tail query, the factors of each part of h for a head query."""
        anchors, relation = self._blocks(self.entity, queries.anchors), self._scaled(self.relation, queries.relations)
        c, squares = np.asarray(self.coefficients, np.float64)[:, None, None], self._squares[:, None, None]
        if queries.side == "tail":
            head = np.concatenate([anchors[:1], c * anchors[1:]])
            real = weighted_sum(np.concatenate([np.ones_like(squares[:1]), squares]), head * relation)
            rest = head[0] * relation[1:] + head[1:] * relation[0]
        else:
            real = weighted_sum(np.ones(len(anchors)), anchors * relation)
            rest = c * (squares * relation[1:] * anchors[0] + relation[0] * anchors[1:] + self._across(relation[1:]))
        return np.concatenate([real, *rest], axis=1)

    def query_offsets(self, queries: Queries) -> Float64Array:
        """Return what the parts in e_i e_k add to the scores of a tail query."""
        if queries.side == "head" or not len(self.coefficients):
            return np.zeros(len(queries))
        head, relation = (
            self._scaled(self.entity, queries.anchors)[1:],
            self._scaled(self.relation, queries.relations)[1:],
        )
        return weighted_sum(np.ones(len(head)), dot_rows(head, self._across(relation)))

    @property
    def _squares(self) -> Float64Array:
        return np.where(np.arange(len(self.coefficients)) < self.p, 1.0, -1.0)

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
