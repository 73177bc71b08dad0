"""One block of queries against one chunk of entities on a device: candidates counted, or the best ones selected.

``device_kernel`` makes the blocks. In a block, three kinds of scores decide about pairs of a query and an entity, one
after the other: the screen's approximate scores (``screen``) about almost all pairs, float64 sums on the device about
almost all others, and canonical scores (float64, in one fixed order, on the host) about the last. If each query has its
own list of candidates, their pairs skip the screen.

Selection
---------
The best k candidates of each query are kept, one in each of k places. The k candidates with the highest scores by the
screen are scored in float64. The k-th largest of their lower bounds, and of the best scores so far, is a threshold that
at least k candidates reach. Candidates that cannot reach it, by the screen or in float64, are discarded. The few that
are left, and those that may tie with the last place, are scored canonically.

Bound on the float64 sums
-------------------------
They are taken in any order of summation, as in ``screening/counting``. A float64 sum of n terms is within γ(2n) of the
exact sum, so the device's sum and the canonical one are within twice that of each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.threads import parallel_for, slices
from kgeval.data.queries import Rows
from kgeval.models.similarity import Similarity
from kgeval.ranking.kernels.best_selection import best_arrays, merge_rows
from kgeval.ranking.kernels.collectors import BestAnswers, known_in_chunk
from kgeval.ranking.kernels.device.device_vectors import DeviceVectors, to_device, triton_runs
from kgeval.ranking.kernels.device.screen import (
    BYTES_PER_PAIR,
    CandidateBounds,
    ScreenResult,
    bounds_of_answers,
    bounds_of_candidates,
    half_widths,
    screen_scores,
    unscaling,
)
from kgeval.ranking.kernels.rounding import canonical_growth
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.memory_plan import cut

FLOOR = 2.0**-500
"""what underflow may take from a score, per dimension, in float64: a lost square is below 2⁻¹⁰²²"""

ARRAYS = 6
"""the number of float64 arrays that are held at a time: of pair × dimension, or of pairs if Triton sums them"""

MERGED = 256
"""the number of queries whose candidates a thread merges at a time"""


@dataclass(frozen=True, eq=False)
class DeviceBlock:
    """A block of queries and a chunk of entities, on the device and on the host."""

    host: tuple[QueryVectors, EntityVectors]
    queries: DeviceVectors
    entities: DeviceVectors
    canonical: Callable[[QueryVectors, EntityVectors, Rows], Float64Array]
    """computes canonical scores of the entities in each query's row, on the host"""
    memory: int
    """the memory that arrays of pairs may take, in bytes"""
    effort: IntArray
    """int64[2], counters: how many pairs were scored in float64, and how many canonically"""

    def bounds(self, owners: Any, candidates: Any) -> ScoreBounds:
        """Bound the scores of pairs of a query and an entity, int64[pair] each, by float64 sums."""
        self.effort[0] += len(owners)
        similarity = self.host[0].similarity
        return score_pairs(similarity, self.queries, self.entities, owners, candidates, memory=self.memory)


@dataclass(frozen=True, eq=False)
class BlockCounting:
    """Counts a chunk's entities above each answer's tie interval, and inside it; int64[answer, 2], on the device."""

    block: DeviceBlock
    answers: BlockAnswers

    def count_all(self, compare: Callable[..., ScreenResult], bytes_per_pair: float) -> Any:
        """Count all entities of the chunk; ``compare`` is the screen's comparison, here in torch or in Triton."""
        block, counts, similarity = self.block, self._zeros(), self.block.host[0].similarity
        candidates = bounds_of_candidates(similarity, block.entities)
        step = max(1, int(block.memory / (bytes_per_pair * max(len(block.host[1].biases), 1))))
        for part in slices(len(counts), step):
            owners, *ends, _ = (each[part] for each in self.answers)
            answers = bounds_of_answers(similarity, block.queries, block.entities, tuple(ends), owners)
            rounded = block.queries.rounded[owners], block.entities.rounded
            screened = compare(similarity, *rounded, answers, candidates)
            counts[part, 0] += screened.above
            rows, entities = screened.answers + part.start, screened.candidates
            self._decide(rows, entities, block.bounds(self.answers.owners[rows], entities), counts)
        return counts

    def count_listed(self, lists: Rows) -> Any:
        """Count the entities in each query's row."""
        owners, counts = self.answers.owners, self._zeros()
        offsets, of_query, entities = (
            to_device(array, owners.device) for array in (lists.offsets, lists.owners, lists.ids)
        )
        bounds = self.block.bounds(of_query, entities)
        pairs = (offsets[owners + 1] - offsets[owners]).cpu().numpy()
        for part in cut(pairs, max(1, self.block.memory // BYTES_PER_PAIR)):
            rows, entries = expand(owners[part], offsets)
            of_entries = ScoreBounds(bounds.lows[entries], bounds.highs[entries])
            self._decide(rows + part.start, entities[entries], of_entries, counts)
        return counts

    def _zeros(self) -> Any:
        return torch.zeros((len(self.answers.owners), 2), dtype=torch.int64, device=self.answers.owners.device)

    def _decide(self, rows: Any, entities: Any, bounds: ScoreBounds, counts: Any) -> None:
        """Count pairs of answers and entities; if an interval's end lies within the bounds, canonical scores decide."""
        lowest, highest = self.answers.lowest[rows], self.answers.highest[rows]
        above, inside = bounds.lows > highest, (bounds.lows >= lowest) & (bounds.highs <= highest)
        inside |= entities == self.answers.places[rows]
        # NaN is undecided.
        undecided = ~(above | inside | (bounds.highs < lowest))
        for column, where in enumerate((above, inside)):
            counts[:, column] += torch.bincount(rows[where], minlength=len(counts))
        left = rows[undecided].cpu().numpy()
        if len(left):
            further = self._count_canonically(left, entities[undecided].cpu().numpy())
            counts += torch.from_numpy(further).to(counts.device)

    def _count_canonically(self, rows: IntArray, entities: IntArray) -> IntArray:
        """Compare canonical scores on the host; int64[answer, 2]."""
        queries, chunk = self.block.host
        self.block.effort[1] += len(rows)
        owners, lowest, highest, _ = (each.cpu().numpy() for each in self.answers)
        order = np.argsort(owners[rows], kind="stable")
        rows, lengths = rows[order], np.bincount(owners[rows], minlength=len(queries.vectors))
        scores = self.block.canonical(queries, chunk, Rows.sized(lengths, entities[order]))
        above = scores > highest[rows]
        inside = (scores >= lowest[rows]) & ~above
        return np.stack([np.bincount(rows[where], minlength=len(owners)) for where in (above, inside)], axis=1)


class BlockAnswers(NamedTuple):
    """The answers of a block of queries, on the device."""

    owners: Any
    """int64[answer], the query of each answer, as an index into the block"""
    lowest: Any
    """float64[answer], where its tie interval begins"""
    highest: Any
    """float64[answer], where it ends"""
    places: Any
    """int64[answer], the answer itself, as an index into the chunk: it ties; out of range if it is not in the chunk"""


@dataclass(frozen=True, eq=False)
class BlockSelection:
    """The selection for one block of queries from one chunk of entities."""

    block: DeviceBlock
    first: int
    """the position of the chunk's first entity"""
    best: BestAnswers
    """the best of the block's queries, into which the chunk is merged"""

    def select(self) -> None:
        """Merge the best of the chunk, some queries at a time."""
        queries, chunk = self.block.host
        candidates, width = bounds_of_candidates(queries.similarity, self.block.entities), len(chunk.biases)
        for part in slices(len(queries.vectors), max(1, self.block.memory // (BYTES_PER_PAIR * max(width, 1)))):
            self._select_rows(part, candidates)

    def _select_rows(self, part: slice, candidates: CandidateBounds) -> None:
        queries, entities, similarity = self.block.queries, self.block.entities, self.block.host[0].similarity
        device = candidates.added.device
        owners = torch.arange(part.start, part.stop, device=device)
        scale = unscaling(similarity, queries.scales[part], entities)
        scores = screen_scores(similarity, queries.rounded[part], entities.rounded, scale, candidates.added)
        known = known_in_chunk(self.best.known[part], self.first, len(self.block.host[1].biases))
        left_out = to_device(known.owners, device), to_device(known.ids, device)
        if self.best.drops_known:
            scores[left_out] = -torch.inf
        thresholds = self._thresholds(owners, scores, to_device(self.best.scores[part], device))
        answers = bounds_of_answers(similarity, queries, entities, (thresholds, thresholds), owners)
        # A comparison with NaN is false, so the candidate stays; a threshold of −∞ makes the half width NaN.
        reaching = ~(scores.sub_(answers.middle[:, None]) < half_widths(answers, candidates).neg_())
        if self.best.drops_known:
            reaching[left_out] = False
        rows, places = reaching.nonzero(as_tuple=True)
        kept = ~(self.block.bounds(owners[rows], places).highs < thresholds[rows])
        self._merge(owners[rows[kept]].cpu().numpy(), places[kept].cpu().numpy())

    def _thresholds(self, owners: Any, scores: Any, held: Any) -> Any:
        """For each query, find a threshold: a score that at least k candidates reach; −∞ if there are fewer than k.

        It comes from the candidates with the highest screened scores (``scores``, float32[query, entity]), and from the
        best scores so far (``held``, float64[query, place]).
        """
        places = held.shape[1]
        highest = scores.topk(min(places, scores.shape[1]), dim=1)
        shape = highest.indices.shape
        lows = self.block.bounds(owners[:, None].expand(shape).ravel(), highest.indices.ravel()).lows.view(shape)
        lows = torch.where(highest.values == -torch.inf, -torch.inf, lows)
        return torch.cat([lows, held], dim=1).topk(places, dim=1).values[:, -1]

    def _merge(self, owners: IntArray, places: IntArray) -> None:
        """Score pairs canonically, and merge them into the best; int64[pair] each, in order of query and place."""
        queries, chunk = self.block.host
        self.block.effort[1] += len(owners)
        lists = Rows.sized(np.bincount(owners, minlength=len(queries.vectors)), places)
        scores, arrays = self.block.canonical(queries, chunk, lists), best_arrays(self.best)
        parallel_for(
            lambda part: merge_rows(part.start, part.stop, lists.offsets, scores, lists.ids + self.first, arrays),
            len(queries.vectors),
            MERGED,
        )


def score_pairs(
    similarity: Similarity,
    queries: DeviceVectors,
    entities: DeviceVectors,
    owners: Any,
    candidates: Any,
    *,
    memory: int,
) -> ScoreBounds:
    """Bound the canonical scores of pairs of a query and an entity, int64[pair] each, by float64 sums.

    ``memory`` is the number of bytes that decides how many pairs are scored at a time.
    """
    dim, fused = queries.exact.shape[1], triton_runs(owners.device)
    step = max(1, memory // (8 * ARRAYS * (1 if fused else max(dim, 1))))
    lows, highs = (torch.empty(len(owners), dtype=torch.float64, device=owners.device) for _ in range(2))
    for start in range(0, len(owners), step):
        part = slice(start, start + step)
        query, entity = owners[part], candidates[part]
        if fused:
            from kgeval.ranking.kernels.device.fused import sum_pairs

            sums = sum_pairs(similarity, queries.exact, entities.exact, query, entity)
        else:
            sums = _sums(similarity, queries.exact[query], entities.exact[entity])
        similarities = sums if similarity == "dot" else (sums.sqrt_() if similarity == "l2" else sums).neg_()
        size = queries.norms[query] * entities.norms[entity] if similarity == "dot" else similarities.abs()
        added, offset = entities.added[entity], queries.added[query]
        slack = canonical_growth(dim) * 2 * 1.01 * size + FLOOR * (dim + 1)
        slack += 2.0**-48 * (similarities.abs() + added.abs() + offset.abs())
        middle = similarities + added + offset
        lows[part], highs[part] = middle - slack, middle + slack
    return ScoreBounds(lows, highs)


class ScoreBounds(NamedTuple):
    """A lower and an upper bound of the canonical score of each pair; float64[pair]."""

    lows: Any
    highs: Any


def _sums(similarity: Similarity, queries: Any, entities: Any) -> Any:
    """Add up the terms of each pair, float64[pair], as ``fused.sum_pairs`` does. No root of squares is taken."""
    if similarity == "dot":
        return (queries * entities).sum(dim=1)
    difference = queries - entities
    if similarity == "l1":
        return difference.abs_().sum(dim=1)
    if similarity == "modulus":
        half = difference.shape[1] // 2
        return difference[:, :half].square().add_(difference[:, half:].square()).sqrt_().sum(dim=1)
    return difference.square_().sum(dim=1)


def expand(owners: Any, offsets: Any) -> tuple[Any, Any]:
    """Pair each row with every entry in the list of its owner; return the rows and the entries, int64[pair] each.

    >>> first, place = expand(torch.tensor([1, 0, 1]), torch.tensor([0, 1, 3]))
    >>> first.tolist(), place.tolist()
    ([0, 0, 1, 2, 2], [1, 2, 0, 1, 2])
    """
    lengths = offsets[owners + 1] - offsets[owners]
    rows = torch.repeat_interleave(torch.arange(len(owners), device=owners.device), lengths)
    ends = lengths.cumsum(0)
    places = torch.arange(len(rows), device=owners.device) - (ends - lengths - offsets[owners])[rows]
    return rows, places
