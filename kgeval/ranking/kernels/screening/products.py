"""Screening by matrix products, in float32 or bfloat16: for dot products and Euclidean distances.

dot    q·e + bias        > x
l2     q·e − ‖e‖²/2      > (‖q‖² + x|x|)/2        with x the answer's score without the query's offset

and of a squared distance q·e − (‖e‖² − bias)/2 > (‖q‖² + x)/2.

What is added to the product of an entity stands in spare columns. For rounded vectors q̂ = q − δq, ê = e − δe
(Higham, 2002, chapter 3):

|q·e − fl(q̂·ê)| ≤ ‖q‖‖δe‖ + ‖δq‖‖ê‖ + γ(d + 11)‖q̂‖‖ê‖,  γ(n) = n u / (1 − n u),  u = 2⁻²⁴

whatever the order of summation, with or without fused operations; all norms are known exactly. In bfloat16, u is twice
as large: a processor may cut sums off in place of rounding them. The canonical score's own rounding, in float64, is
added. Rounding the result to bfloat16 is monotone and needs no bound: there the limits are rounded outwards to bfloat16
instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.compiling import njit
from kgeval.ranking.kernels.rounding import SPARE, U32, Rounded, canonical_growth, growth, round_rows
from kgeval.ranking.kernels.screening.screens import BOUND_GROUP, SMALLEST, Limits, Screen, middle_of, round_outward
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.plan import Precision


class Float32Products(Screen):
    """Matrix products in float32; columns by ascending norm, which keeps the bounds of a group tight."""

    precision: Precision = "float32"

    def __init__(self, queries: QueryVectors, entities: EntityVectors) -> None:
        self._query_vectors = queries
        self.order = np.argsort(entities.norms, kind="stable")
        self._norms = entities.norms[self.order]
        self._added = entities.biases[self.order]
        if queries.similarity in {"l2", "squared_l2"}:
            self._added = 0.5 * (self._added - self._norms * self._norms)
        self._round(entities)

    def _round(self, entities: EntityVectors) -> None:
        self._queries: Rounded = getattr(self._query_vectors, self.precision)
        self._entities = round_rows(entities.vectors, self.order, precision=self.precision, manhattan=False)
        self._left_over = np.abs(self._entities.add(self._added))

    @property
    def _width(self) -> int:
        return int(self._query_vectors.vectors.shape[1]) + (SPARE if self._added.any() else 0)

    def buffer(self, rows: int) -> np.ndarray[Any, Any]:
        return np.empty((rows, len(self.order)), np.float32)

    def statistics(self, block: slice, buffer: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        queries, entities = self._queries.vectors[block, : self._width], self._entities.vectors[:, : self._width]
        return np.matmul(queries, entities.T, out=buffer[: len(queries)])

    def limits(self, lowest: Float64Array, highest: Float64Array, owners: IntArray) -> Limits:
        error, (low, below) = self._error(owners), self._statistics_of(lowest, owners)
        high, above = self._statistics_of(highest, owners)
        return round_outward((high + above)[:, None] + error, (low - below)[:, None] - error)

    def _statistics_of(self, scores: Float64Array, owners: IntArray) -> tuple[Float64Array, Float64Array]:
        """Compute the statistics of scores, and how far rounding may have moved them and canonical scores."""
        offsets, similarity = self._query_vectors.offsets[owners], self._query_vectors.similarity
        norms, largest = self._query_vectors.norms[owners], self._norms[-1]
        farthest = norms * largest if similarity == "dot" else (norms + largest) ** 2
        if similarity != "l2":
            farthest = farthest + np.abs(self._added).max()
        sizes = np.abs(scores) + np.abs(offsets)
        middle, size = middle_of(similarity, scores - offsets, norms, sizes, farthest)
        return middle, canonical_growth(self._query_vectors.vectors.shape[1]) * size

    def _error(self, owners: IntArray) -> Float64Array:
        """Bound the error of the statistics of each answer's query; float64[answer, group]."""
        dim = self._query_vectors.vectors.shape[1] + SPARE
        errors = self._queries.rounding_errors[owners]
        norms = self._query_vectors.norms[owners] + errors
        lost = growth(dim + 8, U32 if self.precision == "float32" else 2 * U32)
        largest = largest_in_groups(self._norms + self._entities.rounding_errors)
        product = np.outer(errors + lost * norms, largest)
        product += np.outer(self._query_vectors.norms[owners], largest_in_groups(self._entities.rounding_errors))
        product += largest_in_groups(2 * lost * np.abs(self._added) + self._left_over) + SMALLEST * dim
        return np.asarray(product * (1 + 2.0**-20))


def largest_in_groups(values: Float64Array) -> Float64Array:
    """Take the largest value of each group of columns; float64[group]."""
    return np.asarray(np.maximum.reduceat(values, np.arange(0, len(values), BOUND_GROUP)))


class Bfloat16Products(Float32Products):
    """Matrix products in bfloat16, accumulated in float32: for processors that have them."""

    precision = "bfloat16"
    refined_in_float64 = False

    def _round(self, entities: EntityVectors) -> None:
        import torch

        super()._round(entities)
        self._factors = [
            torch.from_numpy(factor.vectors.view(np.int16)).view(torch.bfloat16)[:, : self._width]
            for factor in (self._queries, self._entities)
        ]

    def buffer(self, rows: int) -> np.ndarray[Any, Any]:
        return np.empty((rows, len(self.order)), np.int16)

    def statistics(self, block: slice, buffer: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        import torch

        queries, entities = self._factors[0][block], self._factors[1]
        keys = buffer[: len(queries)]
        with torch.inference_mode():
            torch.mm(queries, entities.T, out=torch.from_numpy(keys).view(torch.bfloat16))
        _to_keys(keys)
        return keys

    def limits(self, lowest: Float64Array, highest: Float64Array, owners: IntArray) -> Limits:
        upper, lower = super().limits(lowest, highest, owners)
        return Limits(_key(upper, up=True), _key(lower, up=False))


def _key(limits: np.ndarray[Any, Any], *, up: bool) -> np.ndarray[Any, Any]:
    """Round float32 limits up or down to bfloat16, as keys that order like the numbers; int16."""
    bits = limits.view(np.uint32)
    away = (limits < 0) != up
    halves = np.where(away, (bits.astype(np.uint64) + 0xFFFF) >> 16, bits >> 16).astype(np.uint16).view(np.int16)
    keys = halves ^ ((halves >> 15) & 0x7FFF)
    # Minus zero (key −1) and zero (key 0) are equal: a lower limit of zero must let minus zero through.
    return keys if up else np.where(keys == 0, np.int16(-1), keys)


@njit(cache=True, nogil=True)
def _to_keys(bits):  # type: ignore[no-untyped-def]
    for query in range(len(bits)):
        _row_to_keys(bits[query])


@njit(cache=True)
def _row_to_keys(row):  # type: ignore[no-untyped-def]
    for column in range(len(row)):
        row[column] = row[column] ^ ((row[column] >> 15) & 0x7FFF)
