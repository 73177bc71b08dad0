"""Families with a core tensor: TuckER, and its form with a table of tails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.family import ProductFamily, by_relation, rows64
from kgeval.scorers.numerics.ordered import matmul_ordered, weighted_sum


@dataclass(frozen=True, eq=False)
class TuckER(ProductFamily):
    """score(h, r, t) = B₁(B₀(h) ×₁ W ×₂ r) · t, B(x) = scale∘x + shift: the trained batch normalisation.

    Balažević, Allen and Hospedales: TuckER: Tensor Factorization for Knowledge Graph Completion, EMNLP 2019.
    """

    formula: ClassVar[str] = "B₁(B₀(h) ×₁ W ×₂ r) · t"

    core: FloatArray
    """float[entity width, relation width, entity width], axes head, relation, tail"""
    head_scale: FloatArray | None = None
    """float[entity width], the scale of B₀; none is 1"""
    head_shift: FloatArray | None = None
    """float[entity width], the shift of B₀; none is 0"""
    product_scale: FloatArray | None = None
    """float[entity width], the scale of B₁; none is 1"""
    product_shift: FloatArray | None = None
    """float[entity width], the shift of B₁; none is 0"""

    def check_shapes(self) -> None:
        width = self.entity.shape[1]
        self.require_shapes(core=(width, self.relation.shape[1], width))
        self.require_shapes(head_scale=(width,), head_shift=(width,), product_scale=(width,), product_shift=(width,))

    def query_vectors(self, queries: Queries) -> Float64Array:
        anchors = rows64(self.entity, queries.anchors)
        if queries.side == "head":
            return self._factor("head_scale") * self._adjoint(queries, anchors)
        mixed = multiplied(self, queries, self._factor("head_scale") * anchors + self._factor("head_shift"))
        return self._factor("product_scale") * mixed + self._factor("product_shift")

    def query_offsets(self, queries: Queries) -> Float64Array:
        if queries.side == "tail":
            return np.zeros(len(queries))
        anchors = rows64(self.entity, queries.anchors)
        terms = self._factor("head_shift") * self._adjoint(queries, anchors) + self._factor("product_shift") * anchors
        return np.asarray(np.add.accumulate(terms, axis=1)[:, -1])

    def _adjoint(self, queries: Queries, tails: Float64Array) -> Float64Array:
        return multiplied(self, queries, self._factor("product_scale") * tails)

    def _factor(self, name: str) -> Float64Array:
        value = getattr(self, name)
        neutral = 1.0 if name.endswith("scale") else 0.0
        return np.full(self.entity.shape[1], neutral) if value is None else np.asarray(value, np.float64)


@dataclass(frozen=True, eq=False)
class MultiLinearTucker(ProductFamily):
    """score(h, r, t) = W ×₁ h ×₂ r ×₃ t', entities stored as [as head | as tail].

    Tucker: Some Mathematical Notes on Three-Mode Factor Analysis, Psychometrika 1966.
    """

    formula: ClassVar[str] = "W ×₁ h ×₂ r ×₃ t'"

    core: FloatArray
    """float[head width, relation width, tail width], W"""

    def check_shapes(self) -> None:
        self.require(self.core.ndim == 3, "core must be head width × relation width × tail width")
        head, relation, tail = self.core.shape
        widths = self.entity.shape[1] == head + tail and self.relation.shape[1] == relation
        self.require(widths, "core must be as wide as entity (as head, and as tail) and relation")

    def query_vectors(self, queries: Queries) -> Float64Array:
        heads, tails = np.split(rows64(self.entity, queries.anchors), [self.core.shape[0]], axis=1)
        return multiplied(self, queries, heads if queries.side == "tail" else tails)

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        heads, tails = np.split(self.entity, [self.core.shape[0]], axis=1)
        return (heads if side == "head" else tails)[ids]


def multiplied(family: TuckER | MultiLinearTucker, queries: Queries, vectors: Float64Array) -> Float64Array:
    """Multiply vectors with the matrix M_r = Σ_j r_j W[:, j, :] of each query's relation, transposed for a head."""
    tails = queries.side == "tail"

    def multiply(relation: int, part: BoolArray) -> Float64Array:
        weights = rows64(family.relation, relation)
        matrix = weighted_sum(weights, np.moveaxis(np.asarray(family.core, np.float64), 1, 0))
        return matmul_ordered(vectors[part], matrix if tails else matrix.T)

    return by_relation(queries.relations, family.core.shape[2 if tails else 0], multiply)
