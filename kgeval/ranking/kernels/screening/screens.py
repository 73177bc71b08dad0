"""Screens: approximate scores of a block of queries and candidates, and how far they may be from the canonical ones.

``ScreenedKernel`` makes screens for each chunk of candidates (``screens_for``). A screen turns "the candidate is above
the answer" into "a statistic is above a limit". A statistic is a number for a query and a candidate that orders as the
score does, in low precision. Two limits, above and below the answer's own statistic by a proven bound on the error,
enclose the candidates that remain uncertain. To add a screen, write a ``Screen`` here, and a case in ``screens_for``.

Statistics of distances
-----------------------
Absolute differences or moduli are summed, never an array of query × candidate × dimension:

l1, modulus      −distance > x                 with x the answer's score without the query's offset

A sum of d numbers of one sign loses at most the share γ(d), whatever the order (Higham, 2002, chapter 4).

Statistics of products
----------------------
Matrix products, in float32 or bfloat16, for dot products and Euclidean distances:

dot    q·e + bias        > x
l2     q·e − ‖e‖²/2      > (‖q‖² + x|x|)/2        with x the answer's score without the query's offset

For a squared distance, the comparison is q·e − (‖e‖² − bias)/2 > (‖q‖² + x)/2.

The number that is added to an entity's product stands in spare columns of its vector. For rounded vectors q̂ = q − δq,
ê = e − δe (Higham, 2002, chapter 3):

|q·e − fl(q̂·ê)| ≤ ‖q‖‖δe‖ + ‖δq‖‖ê‖ + γ(d + 11)‖q̂‖‖ê‖,  γ(n) = n u / (1 − n u),  u = 2⁻²⁴

whatever the order of summation, with or without fused operations; all norms are known exactly. In bfloat16, u is twice
as large: a processor may cut sums off instead of rounding them. The canonical score's own rounding, in float64, is
added. Rounding the result to bfloat16 is monotone and needs no bound: the limits are rounded outwards to bfloat16
instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.compiling import njit
from kgeval.models.similarity import Similarity
from kgeval.ranking.kernels.compiled import L1, SIMILARITIES
from kgeval.ranking.kernels.rounding import SPARE, U32, Precision, Rounded, canonical_growth, growth, round_rows
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors

BOUND_GROUP = 512
"""the number of candidates that share one error bound: a group of neighbours in the columns of the screen"""

LARGEST = 2.0**60
"""vectors with larger norms are not screened: their squares come near the end of float32"""

MOST_DIMENSIONS = 2**20
"""vectors with more dimensions are not screened: rounding may change a large part of a sum"""

SMALLEST = 2.0**-60
"""what underflow may take from a score, per dimension (a square below 2⁻¹²⁶ is lost, so a modulus below 2⁻⁶³ is)"""

TILE = 64
"""the number of candidates whose distances are summed side by side"""

QUERY_BLOCK = 256
"""the number of queries that are compared with a tile of candidates while it is in cache"""


def screens_for(
    precisions: Sequence[Precision], queries: QueryVectors, entities: EntityVectors, *scores: Float64Array
) -> list[Screen]:
    """Make a screen of each precision for a chunk; none if no bound holds. Only products have several precisions.

    ``scores`` are arrays of the scores that candidates are compared with.
    """
    if not (precisions and vectors_are_bounded(queries, entities, *scores)):
        return []
    if queries.similarity in {"dot", "squared_l2"} or (queries.similarity == "l2" and not entities.biases.any()):
        products = {"bfloat16": Bfloat16Products, "float32": Float32Products}
        return [products[precision](queries, entities) for precision in precisions]
    return [] if entities.biases.any() else [Float32Distances(queries, entities)]


def vectors_are_bounded(queries: QueryVectors, entities: EntityVectors, *scores: Float64Array) -> bool:
    """Whether the error bounds hold: not where numbers are huge, infinite or undefined, or dimensions too many."""
    if queries.vectors.shape[1] > MOST_DIMENSIONS:
        return False
    # NaN stays NaN through these maxima, and is not below anything.
    sizes = (queries.norms, queries.offsets, entities.norms, entities.biases)
    # An answer may owe its score to a bias in another chunk, so its size is taken by itself.
    return bool(np.max([np.abs(size).max(initial=0.0) for size in sizes]) < LARGEST) and scores_are_bounded(
        queries.similarity, *scores
    )


def scores_are_bounded(similarity: Similarity, *scores: Float64Array) -> bool:
    """Whether no score that candidates are compared with is huge, infinite or undefined."""
    limit = LARGEST**2 if similarity in {"dot", "squared_l2"} else LARGEST
    return all(np.abs(each).max(initial=0.0) < limit for each in scores)


class Screen(Protocol):
    """Approximate statistics of queries and the candidates of a chunk."""

    order: IntArray
    """int64[column], the candidate in each column"""
    refined_in_float64: bool = True
    """whether refined scores of uncertain candidates are summed in float64, not in the precision of the entities"""

    def buffer(self, rows: int) -> np.ndarray[Any, Any]:
        """Make room for the statistics of some queries, [query, column]."""

    def statistics(self, block: slice, buffer: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Approximate the statistics of a block of queries; [query, column], in the buffer."""

    def limits(self, lowest: Float64Array, highest: Float64Array, owners: IntArray) -> Limits:
        """Turn tie intervals (float64[answer] each, for the queries ``owners``) into limits of statistics."""


class Limits(NamedTuple):
    """Statistics above ``upper`` are certainly above an interval, those below ``lower`` certainly below it."""

    upper: np.ndarray[Any, Any]
    """[answer, group of columns], in the precision of the statistics"""
    lower: np.ndarray[Any, Any]
    """[answer, group of columns], in the same precision"""


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


class Float32Distances(Screen):
    """Negative distances in float32, in columns of the chunk's own order."""

    def __init__(self, queries: QueryVectors, entities: EntityVectors) -> None:
        self._query_vectors = queries
        self.order = np.arange(len(entities.biases))
        rounded = round_rows(entities.vectors, self.order, precision="float32", manhattan=True)
        self._entity_loss = rounded.rounding_errors.max(initial=0.0)
        self._tiles = _tiles(rounded.vectors[:, : entities.vectors.shape[1]])

    def buffer(self, rows: int) -> np.ndarray[Any, Any]:
        return np.empty((rows, len(self._tiles) * TILE), np.float32)

    def statistics(self, block: slice, buffer: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        queries = self._query_vectors.float32.vectors[block]
        out = buffer[: len(queries)]
        _sum_distances(SIMILARITIES.index(self._query_vectors.similarity), queries, self._tiles, out)
        return out[:, : len(self.order)]

    def limits(self, lowest: Float64Array, highest: Float64Array, owners: IntArray) -> Limits:
        dim, offsets = self._query_vectors.vectors.shape[1], self._query_vectors.offsets[owners]
        relative = 2 * (dim + 16) * U32
        error = self._query_vectors.float32.rounding_errors[owners] + self._entity_loss + SMALLEST * dim
        error = error + canonical_growth(dim) * (np.maximum(np.abs(lowest), np.abs(highest)) + np.abs(offsets))
        near, far = (offsets - highest - error) / (1 + relative), (offsets - lowest + error) / (1 - relative)
        groups = -(-len(self.order) // BOUND_GROUP)
        return round_outward(np.repeat(-near[:, None], groups, axis=1), np.repeat(-far[:, None], groups, axis=1))


def round_outward(upper: Float64Array, lower: Float64Array) -> Limits:
    """Round limits to float32, away from each other."""
    return Limits(
        (upper + np.abs(upper) * 2.0**-22 + 2.0**-120).astype(np.float32),
        (lower - np.abs(lower) * 2.0**-22 - 2.0**-120).astype(np.float32),
    )


def middle_of(similarity: Similarity, scores: Any, norms: Any, sizes: Any, farthest: Any) -> tuple[Any, Any]:
    """Turn scores of answers into statistics of products; also return the size of the numbers that are added for them.

    The arguments are arrays or tensors [answer]: ``scores`` without offsets, ``norms`` of queries, ``sizes`` of scores,
    and ``farthest``, the size of products.
    """
    if similarity == "l2":
        # A positive score (of an answer with a bias) is beyond every distance, so the square keeps the sign.
        return 0.5 * (norms * norms + scores * abs(scores)), sizes * sizes + farthest
    if similarity == "squared_l2":
        return 0.5 * (norms * norms + scores), sizes + farthest
    return scores, sizes + farthest


def largest_in_groups(values: Float64Array) -> Float64Array:
    """Take the largest value of each group of columns; float64[group]."""
    return np.asarray(np.maximum.reduceat(values, np.arange(0, len(values), BOUND_GROUP)))


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
        row = bits[query]
        for column in range(len(row)):
            row[column] = row[column] ^ ((row[column] >> 15) & 0x7FFF)


def _tiles(vectors: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Lay vectors out as float32[tile, dim, TILE], the last tile filled up with zeros."""
    padded = np.pad(vectors, ((0, -len(vectors) % TILE), (0, 0)))
    return np.ascontiguousarray(padded.reshape(-1, TILE, vectors.shape[1]).transpose(0, 2, 1))


@njit(cache=True, nogil=True)
def _sum_distances(similarity, queries, tiles, out):  # type: ignore[no-untyped-def]
    for first in range(0, len(queries), QUERY_BLOCK):
        for tile in range(len(tiles)):
            for query in range(first, min(len(queries), first + QUERY_BLOCK)):
                sums = out[query, tile * TILE : (tile + 1) * TILE]
                sums[:] = np.float32(0)
                if similarity == L1:
                    _subtract_l1(queries[query], tiles[tile], sums)
                else:
                    _subtract_moduli(queries[query], tiles[tile], sums)


@njit(cache=True)
def _subtract_l1(query, tile, sums):  # type: ignore[no-untyped-def]
    for k in range(len(tile)):
        for lane in range(TILE):
            sums[lane] -= abs(query[k] - tile[k, lane])


@njit(cache=True)
def _subtract_moduli(query, tile, sums):  # type: ignore[no-untyped-def]
    half = len(tile) // 2
    for k in range(half):
        for lane in range(TILE):
            real = query[k] - tile[k, lane]
            imaginary = query[half + k] - tile[half + k, lane]
            sums[lane] -= np.sqrt(real * real + imaginary * imaginary)
