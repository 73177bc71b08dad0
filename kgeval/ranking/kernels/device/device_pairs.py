"""Pairs on a device: float64 scores of queries and candidates that are listed, and how far they may be off.

The sums are taken in any order, as in ``counting``; each of two float64 sums of n terms is within γ(2n) of the exact
one, so they are within twice that of each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.data.queries import Rows
from kgeval.models.similarity import Similarity
from kgeval.ranking.kernels.device.device_vectors import DeviceVectors
from kgeval.ranking.kernels.device.devices import triton_runs
from kgeval.ranking.kernels.rounding import canonical_growth
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors

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
            found = _fused_similarities(similarity, queries.exact, entities.exact, query, entity)
        else:
            found = _similarities(similarity, queries.exact[query], entities.exact[entity])
        size = queries.norms[query] * entities.norms[entity] if similarity == "dot" else found.abs()
        added, offset = entities.added[entity], queries.added[query]
        slack = canonical_growth(dim) * 2 * 1.01 * size + FLOOR * (dim + 1)
        slack += 2.0**-48 * (found.abs() + added.abs() + offset.abs())
        middle = found + added + offset
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
