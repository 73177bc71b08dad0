"""Screens: approximate scores of a block of queries and candidates, and how far they may be from the canonical ones.

A screen turns "the candidate is above the answer" into "a statistic is above a limit":

dot              q·e + bias        > x
l2               q·e − ‖e‖²/2      > (‖q‖² + x|x|)/2
l1, modulus      −distance         > x                with x the answer's score without the query's offset

The statistic comes in low precision. Two limits, above and below x by a proven bound on the error, enclose what remains
uncertain. For a dot product of rounded vectors q̂ = q − δq, ê = e − δe (Higham, 2002, chapter 3):

|q·e − fl(q̂·ê)| ≤ ‖q‖‖δe‖ + ‖δq‖‖ê‖ + γ(2d)‖q̂‖‖ê‖,  γ(n) = n u / (1 − n u),  u = 2⁻²⁴

whatever the order of summation, with or without fused operations; all norms are known exactly. The canonical score's
own rounding, in float64, is added. Rounding the result to bfloat16 is monotone and needs no bound: there the limits are
rounded outwards to bfloat16 instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numba import njit, prange

from kgeval.arrays import Float64Array, IntArray
from kgeval.ranking.kernels.base import Asked, Offered
from kgeval.ranking.kernels.canonical import L1, SIMILARITIES

U32, U64 = 2.0**-24, 2.0**-53

GROUP = 512
"""candidates that share one error bound, neighbours in the order of their norms"""

LARGEST = 2.0**60
"""norms beyond this are not screened: their squares come near the end of float32"""

SMALLEST = 2.0**-60
"""what underflow may take from a statistic, per dimension (a square below 2⁻¹²⁶ is lost, so a modulus below 2⁻⁶³ is)"""

TILE = 64
"""candidates whose distances are summed side by side"""

TEAM = 32
"""queries that meet a tile while it is in cache"""


Precision = Literal["bfloat16", "float32"]


class Limits(NamedTuple):
    """Statistics above ``upper`` are certainly above the answer, those below ``lower`` are certainly not, nor level."""

    upper: np.ndarray[Any, Any]
    """[task, group], in the precision of the statistics"""
    lower: np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Screen(ABC):
    """Approximate statistics of queries and the candidates of a chunk."""

    asked: Asked
    offered: Offered

    @property
    def order(self) -> IntArray:
        """The candidate in each column; int64[candidate]."""
        return np.arange(len(self.offered.biases))

    @abstractmethod
    def statistics(self, block: slice) -> np.ndarray[Any, Any]:
        """Approximate the statistics of a block of queries; [query, candidate], float32 or keys of bfloat16."""

    @abstractmethod
    def limits(self, answers: Float64Array, owners: IntArray) -> Limits:
        """Enclose the answers' scores (float64[task]), whose queries are ``owners``."""


class DotScreen(Screen):
    """Matrix products in float32."""

    def __init__(self, asked: Asked, offered: Offered) -> None:
        super().__init__(asked, offered)
        vectors = np.asarray(offered.vectors, np.float64)
        norms = np.linalg.norm(vectors, axis=1)
        sorted_by_norm = np.argsort(norms, kind="stable")
        self._order = sorted_by_norm
        vectors, self._norms = vectors[sorted_by_norm], norms[sorted_by_norm]
        self._query_norms = np.linalg.norm(asked.vectors, axis=1)
        self._added = self._bias(sorted_by_norm)
        self._round(vectors)

    @property
    def order(self) -> IntArray:
        """The candidate in each column, by ascending norm; int64[candidate]."""
        return self._order

    def _bias(self, order: IntArray) -> Float64Array:
        """What is added to the product of each column."""
        if self.asked.similarity == "l2":
            return np.asarray(-0.5 * self._norms * self._norms)
        return self.offered.biases[order]

    def _round(self, vectors: Float64Array) -> None:
        """Round the vectors, and keep the norms of what was lost."""
        self._entities = vectors.astype(np.float32)
        self._entity_loss = np.linalg.norm(vectors - self._entities, axis=1)
        self._queries = self.asked.vectors.astype(np.float32)
        self._query_loss = np.linalg.norm(self.asked.vectors - self._queries, axis=1)

    def statistics(self, block: slice) -> np.ndarray[Any, Any]:
        """Multiply; float32[query, candidate]."""
        product = self._queries[block] @ self._entities.T
        if self._added.any():
            product += self._added.astype(np.float32)
        return product

    def limits(self, answers: Float64Array, owners: IntArray) -> Limits:
        """Enclose each answer, one bound per group of columns."""
        middle, slack = self._middle(answers, owners)
        largest = np.maximum.reduceat(self._norms + self._entity_loss, np.arange(0, len(self._norms), GROUP))
        lost = np.maximum.reduceat(self._entity_loss, np.arange(0, len(self._norms), GROUP))
        added = np.maximum.reduceat(np.abs(self._added), np.arange(0, len(self._norms), GROUP))
        bound = self._error(largest, lost, added)[owners] + slack[:, None]
        return _outwards(middle[:, None] + bound, middle[:, None] - bound)

    def _middle(self, answers: Float64Array, owners: IntArray) -> tuple[Float64Array, Float64Array]:
        """The statistic of each answer, and what rounding may have taken from it and from canonical scores."""
        offsets = self.asked.offsets[owners]
        scores, norms = answers - offsets, self._query_norms[owners]
        given = np.abs(answers) + np.abs(offsets)
        if self.asked.similarity == "l2":
            size = given * given + (norms + self._norms[-1]) ** 2
            # A positive score (of an answer with a bias) is beyond every distance, so the square keeps the sign.
            scores = 0.5 * (norms * norms + scores * np.abs(scores))
        else:
            size = given + norms * self._norms[-1] + np.abs(self._added).max()
        return scores, (2 * self.asked.vectors.shape[1] + 64) * U64 * size

    def _error(self, largest: Float64Array, lost: Float64Array, added: Float64Array) -> Float64Array:
        """Bound the error of the statistics; float64[query, group]."""
        dim = self.asked.vectors.shape[1]
        norms = self._query_norms + self._query_loss
        growth = (2 * dim + 8) * U32 / (1 - (2 * dim + 8) * U32)
        product = np.outer(self._query_loss + growth * norms, largest) + np.outer(self._query_norms, lost)
        return np.asarray((product + 4 * U32 * added + SMALLEST * dim) * (1 + 2.0**-20))


class Bfloat16DotScreen(DotScreen):
    """Matrix products in bfloat16, accumulated in float32: for processors that have them."""

    def _round(self, vectors: Float64Array) -> None:
        self._entities, self._entity_loss = _to_bfloat16(vectors)
        self._queries, self._query_loss = _to_bfloat16(self.asked.vectors)

    def statistics(self, block: slice) -> np.ndarray[Any, Any]:
        """Multiply; int16[query, candidate], keys that order as the bfloat16 numbers do."""
        import torch

        with torch.inference_mode():
            product = torch.mm(self._queries[block], self._entities.T)
        bits = product.view(torch.int16).numpy()
        return np.asarray(_keys_in_place(bits))

    def limits(self, answers: Float64Array, owners: IntArray) -> Limits:
        """Enclose each answer by keys of bfloat16 numbers."""
        upper, lower = super().limits(answers, owners)
        return Limits(_key(upper, up=True), _key(lower, up=False))


class DistanceScreen(Screen):
    """Sums of absolute differences or moduli in float32, without an array of query × candidate × dimension."""

    def __init__(self, asked: Asked, offered: Offered) -> None:
        super().__init__(asked, offered)
        vectors = np.asarray(offered.vectors, np.float64)
        rounded = vectors.astype(np.float32)
        self._entity_loss = float(np.abs(vectors - rounded).sum(axis=1).max())
        self._queries = asked.vectors.astype(np.float32)
        self._query_loss = np.abs(asked.vectors - self._queries).sum(axis=1)
        self._tiles = _tiles(rounded)

    def statistics(self, block: slice) -> np.ndarray[Any, Any]:
        """Sum; float32[query, candidate]."""
        queries = self._queries[block]
        out = np.empty((len(queries), len(self._tiles) * TILE), np.float32)
        _sum_distances(SIMILARITIES.index(self.asked.similarity), queries, self._tiles, out)
        return out[:, : len(self.offered.biases)]

    def limits(self, answers: Float64Array, owners: IntArray) -> Limits:
        """Enclose each answer; the error is relative to the distance, and the same for all groups."""
        dim, offsets = self.asked.vectors.shape[1], self.asked.offsets[owners]
        distance = offsets - answers
        relative = 2 * (dim + 16) * U32
        lost = self._query_loss[owners] + self._entity_loss + SMALLEST * dim
        lost = lost + (2 * dim + 64) * U64 * (np.abs(answers) + np.abs(offsets))
        near, far = (distance - lost) / (1 + relative), (distance + lost) / (1 - relative)
        groups = -(-len(self.offered.biases) // GROUP)
        return _outwards(np.repeat(-near[:, None], groups, axis=1), np.repeat(-far[:, None], groups, axis=1))


def screen(asked: Asked, offered: Offered, answers: Float64Array, precision: Precision) -> Screen | None:
    """Choose the screen for a chunk; none where no bound holds (huge, infinite or undefined numbers)."""
    arrays = (asked.vectors, asked.offsets, offered.vectors, offered.biases)
    # NaN stays NaN through these maxima, and is not below anything.
    largest = np.max([np.abs(array).max(initial=0.0) for array in arrays])
    if not largest * asked.vectors.shape[1] < LARGEST:
        return None
    # An answer may owe its score to a bias in another chunk, so its size is asked for by itself.
    if not np.abs(answers).max(initial=0.0) < (LARGEST**2 if asked.similarity == "dot" else LARGEST):
        return None
    biased = bool(offered.biases.any())
    if asked.similarity == "dot":
        coarse = precision == "bfloat16" and not biased
        return Bfloat16DotScreen(asked, offered) if coarse else DotScreen(asked, offered)
    if biased:
        return None
    return DotScreen(asked, offered) if asked.similarity == "l2" else DistanceScreen(asked, offered)


def _outwards(upper: Float64Array, lower: Float64Array) -> Limits:
    """Round limits to float32, away from each other."""
    return Limits(
        (upper + np.abs(upper) * 2.0**-22 + 2.0**-120).astype(np.float32),
        (lower - np.abs(lower) * 2.0**-22 - 2.0**-120).astype(np.float32),
    )


def _to_bfloat16(vectors: Float64Array) -> tuple[Any, Float64Array]:
    """Round to bfloat16; return the rounded vectors and the norm of each one's loss."""
    import torch

    rounded = torch.from_numpy(vectors.astype(np.float32)).to(torch.bfloat16)
    return rounded, np.linalg.norm(vectors - rounded.float().numpy(), axis=1)


def _key(limits: np.ndarray[Any, Any], *, up: bool) -> np.ndarray[Any, Any]:
    """Round float32 limits up or down to bfloat16, as keys that order like the numbers; int16."""
    bits = limits.view(np.uint32)
    away = (limits < 0) != up
    halves = np.where(away, (bits.astype(np.uint64) + 0xFFFF) >> 16, bits >> 16).astype(np.uint16).view(np.int16)
    keys = halves ^ ((halves >> 15) & 0x7FFF)
    # Minus zero (key −1) and zero (key 0) are equal: a lower limit of zero must let minus zero through.
    return keys if up else np.where(keys == 0, np.int16(-1), keys)


def _tiles(vectors: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Lay vectors out as float32[tile, dim, TILE], the last tile filled up with zeros."""
    count, dim = vectors.shape
    padded = np.zeros((-(-count // TILE) * TILE, dim), np.float32)
    padded[:count] = vectors
    return np.ascontiguousarray(padded.reshape(-1, TILE, dim).transpose(0, 2, 1))


@njit(cache=True, parallel=True)
def _keys_in_place(bits):  # type: ignore[no-untyped-def]
    for query in prange(len(bits)):
        _row_keys_in_place(bits[query])
    return bits


@njit(cache=True)
def _row_keys_in_place(row):  # type: ignore[no-untyped-def]
    for column in range(len(row)):
        row[column] = row[column] ^ ((row[column] >> 15) & 0x7FFF)


@njit(cache=True, parallel=True)
def _sum_distances(similarity, queries, tiles, out):  # type: ignore[no-untyped-def]
    for team in prange(-(-len(queries) // TEAM)):
        for tile in range(len(tiles)):
            for query in range(team * TEAM, min(len(queries), (team + 1) * TEAM)):
                sums = out[query, tile * TILE : (tile + 1) * TILE]
                sums[:] = np.float32(0)
                if similarity == L1:
                    _subtract_l1(queries[query], tiles[tile], sums)
                else:
                    _subtract_moduli(queries[query], tiles[tile], sums)


@njit(cache=True)
def _subtract_l1(query, tile, sums):  # type: ignore[no-untyped-def]
    for k in range(len(query)):
        for lane in range(TILE):
            sums[lane] -= abs(query[k] - tile[k, lane])


@njit(cache=True)
def _subtract_moduli(query, tile, sums):  # type: ignore[no-untyped-def]
    half = len(query) // 2
    for k in range(half):
        for lane in range(TILE):
            real = query[k] - tile[k, lane]
            imaginary = query[half + k] - tile[half + k, lane]
            sums[lane] -= np.sqrt(real * real + imaginary * imaginary)
