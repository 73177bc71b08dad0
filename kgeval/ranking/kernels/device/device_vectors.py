"""Vectors on a device: as they are stored, and rounded for a screen, with what the rounding loses; scores of pairs.

A screen of products takes float16, scaled by powers of two so that no number overflows: each query by itself, and the
entities of a chunk together. Eleven significant bits, against the eight of bfloat16, at the same rate. A screen of
distances takes float32. The losses are measured in float64, in the norm of the similarity, so the bounds hold for
whatever the rounding did; numbers too small for float16 are lost, and measured as lost.

Pairs of queries and candidates that are listed are scored in float64, in any order of summation, as in ``counting``;
each of two float64 sums of n terms is within γ(2n) of the exact one, so they are within twice that of each other.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.data.queries import Rows
from kgeval.models.similarity import PRODUCTS, Similarity
from kgeval.ranking.kernels.rounding import canonical_growth
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors

TOP_EXPONENT = 10
"""scaled numbers stay below two to it: sums of their products stay far from the end of float32"""

LARGEST_EXPONENT = 62
"""the largest power of two of a scale; two of them together stay within float32"""

DIM_MULTIPLE = 32
"""dimensions of products are filled up with zeros to a multiple of so many"""

NUMBERS_AT_ONCE = (2**16, 2**22)
"""numbers that are widened to float64 at a time, while they are measured: a sixteenth of all, but no fewer or more"""

NORM_MARGIN = 1 + 2.0**-30
"""by this factor measured norms are taken larger: a sum of squares in float64 may lose that much of 2²² terms"""


@dataclass(frozen=True, eq=False)
class DeviceVectors:
    """Rows of numbers on a device."""

    exact: Any
    """float32 or float64[row, dim], as they are stored"""
    added: Any
    """float64[row], what is added to scores: the biases of entities, the offsets of queries"""
    rounded: Any
    """float16[row, dim, filled up with zeros], scaled; float32[row, dim] for distances"""
    scales: Any
    """float64[row], the powers of two that rows were multiplied with; ones for distances"""
    norms: Any
    """float64[row], no less than the norm of each row"""
    errors: Any
    """float64[row], no less than the norm of what the rounding lost"""

    @classmethod
    def of_queries(cls, queries: QueryVectors, part: slice, device: Any) -> DeviceVectors:
        """Copy some queries to a device, and round them."""
        arrays = queries.vectors[part], queries.offsets[part]
        return cls._of(arrays, device, products=queries.similarity in PRODUCTS, one_scale=False)

    @classmethod
    def of_entities(cls, entities: EntityVectors, device: Any, *, products: bool) -> DeviceVectors:
        return cls._of((entities.vectors, entities.biases), device, products=products, one_scale=True)

    @classmethod
    def _of(cls, arrays: tuple[Any, Any], device: Any, *, products: bool, one_scale: bool) -> DeviceVectors:
        exact, added = (to_device(array, device) for array in arrays)
        rows, dim = exact.shape
        shape = (rows, -(-dim // DIM_MULTIPLE) * DIM_MULTIPLE if products else dim)
        rounded = exact.new_zeros(shape, dtype=torch.float16 if products else torch.float32)
        scales, norms, errors = (torch.ones(rows, dtype=torch.float64, device=device) for _ in range(3))
        if products and rows:
            # Without a copy of all numbers, as their absolute values would be.
            largest = torch.maximum(exact.amax(dim=1), -exact.amin(dim=1)).double() if dim else scales * 0
            scales = _powers(largest.amax().expand(rows) if one_scale else largest)
        order = 2 if products else 1
        least, most = NUMBERS_AT_ONCE
        step = max(1, min(max(rows * dim // 16, least), most) // max(dim, 1))
        for start in range(0, rows, step):
            part = slice(start, start + step)
            wide, scale = exact[part].double(), scales[part, None]
            rounded[part, :dim] = (wide * scale).to(rounded.dtype)
            norms[part] = torch.linalg.vector_norm(wide, ord=order, dim=1)
            errors[part] = torch.linalg.vector_norm(wide - rounded[part, :dim].double() / scale, ord=order, dim=1)
        return cls(exact, added, rounded, scales, norms * NORM_MARGIN, errors * NORM_MARGIN)

    def largest(self) -> float:
        """The largest norm or addition; NaN where one is."""
        sizes = torch.cat([self.norms, self.added.abs()])
        return float(sizes.amax()) if len(sizes) else 0.0


def to_device(array: np.ndarray[Any, Any], device: Any) -> Any:
    """Copy an array to a device; one that cannot be written is copied on the host first, which torch wants so."""
    plain = np.ascontiguousarray(array)
    return torch.from_numpy(plain if plain.flags.writeable else plain.copy()).to(device)


def _powers(largest: Any) -> Any:
    """Return the powers of two that bring numbers to just below two to ``TOP_EXPONENT``; float64, exactly."""
    exponents = torch.where(torch.isfinite(largest), TOP_EXPONENT - torch.frexp(largest).exponent, 0)
    exponents = torch.where(largest > 0, exponents, 0).long().clamp(-LARGEST_EXPONENT, LARGEST_EXPONENT)
    return ((exponents + 1023) << 52).view(torch.float64)


FLOOR = 2.0**-500
"""what underflow may take from a score, per dimension, in float64: a lost square is below 2⁻¹⁰²²"""

ARRAYS = 6
"""arrays of pair × dimension in float64 that are held at a time, and of pairs where sums are fused"""


class Bounds(NamedTuple):
    """A lower and an upper bound of the canonical score of each pair; float64[pair]."""

    lows: Any
    highs: Any


@dataclass(frozen=True, eq=False)
class Block:
    """A block of queries and a chunk of entities, on the device and on the host."""

    host: tuple[QueryVectors, EntityVectors]
    queries: DeviceVectors
    entities: DeviceVectors
    canonical: Callable[[QueryVectors, EntityVectors, Rows], Float64Array]
    """canonical scores of the entities in each query's row"""
    memory: int
    """bytes that arrays of pairs may take"""
    effort: IntArray
    """int64[2], to which is added how many pairs are scored in float64, and canonically"""

    def bounds(self, owners: Any, candidates: Any) -> Bounds:
        """Score pairs of a query and an entity, int64[pair] each, in float64."""
        self.effort[0] += len(owners)
        similarity = self.host[0].similarity
        return score_pairs(similarity, self.queries, self.entities, owners, candidates, memory=self.memory)


def score_pairs(
    similarity: Similarity,
    queries: DeviceVectors,
    entities: DeviceVectors,
    owners: Any,
    candidates: Any,
    *,
    memory: int,
) -> Bounds:
    """Score pairs of a query and an entity, as many at a time as the memory holds."""
    dim, fused = queries.exact.shape[1], triton_runs(owners.device)
    step = max(1, memory // (8 * ARRAYS * (1 if fused else max(dim, 1))))
    lows, highs = (torch.empty(len(owners), dtype=torch.float64, device=owners.device) for _ in range(2))
    for start in range(0, len(owners), step):
        part = slice(start, start + step)
        query, entity = owners[part], candidates[part]
        if fused:
            similarities = _fused_similarities(similarity, queries.exact, entities.exact, query, entity)
        else:
            similarities = _similarities(similarity, queries.exact[query], entities.exact[entity])
        size = queries.norms[query] * entities.norms[entity] if similarity == "dot" else similarities.abs()
        added, offset = entities.added[entity], queries.added[query]
        slack = canonical_growth(dim) * 2 * 1.01 * size + FLOOR * (dim + 1)
        slack += 2.0**-48 * (similarities.abs() + added.abs() + offset.abs())
        middle = similarities + added + offset
        lows[part], highs[part] = middle - slack, middle + slack
    return Bounds(lows, highs)


def _fused_similarities(similarity: Similarity, queries: Any, entities: Any, owners: Any, candidates: Any) -> Any:
    from kgeval.ranking.kernels.device.fused import sum_pairs

    sums = sum_pairs(similarity, queries, entities, owners, candidates)
    if similarity == "l2":
        sums.sqrt_()
    return sums if similarity == "dot" else sums.neg_()


def _similarities(similarity: Similarity, queries: Any, entities: Any) -> Any:
    if similarity == "dot":
        return (queries * entities).sum(dim=1)
    difference = queries - entities
    if similarity == "l1":
        return -difference.abs_().sum(dim=1)
    if similarity == "modulus":
        half = difference.shape[1] // 2
        return -difference[:, :half].square().add_(difference[:, half:].square()).sqrt_().sum(dim=1)
    squares = difference.square_().sum(dim=1)
    return -squares.sqrt_() if similarity == "l2" else -squares


def expand(owners: Any, offsets: Any) -> tuple[Any, Any]:
    """Pair rows with the places of their owners' lists; int64[pair] each.

    >>> first, place = expand(torch.tensor([1, 0, 1]), torch.tensor([0, 1, 3]))
    >>> first.tolist(), place.tolist()
    ([0, 0, 1, 2, 2], [1, 2, 0, 1, 2])
    """
    lengths = offsets[owners + 1] - offsets[owners]
    rows = torch.repeat_interleave(torch.arange(len(owners), device=owners.device), lengths)
    ends = lengths.cumsum(0)
    places = torch.arange(len(rows), device=owners.device) - (ends - lengths - offsets[owners])[rows]
    return rows, places


def triton_runs(device: Any) -> bool:
    """Whether Triton's programs run on a device: on a GPU, if it is installed.

    Triton's interpreter (``TRITON_INTERPRET=1``) takes the place of a GPU.
    """
    there = device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
    return there and importlib.util.find_spec("triton") is not None
