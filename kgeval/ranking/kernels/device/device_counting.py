"""Counting on a device: a block of queries against a chunk of entities, down to the pairs that only the host decides.

The screen decides almost all pairs, float64 sums almost all others. Known answers, and candidates that are each query's
own, are lists: their pairs go to the float64 sums at once. An answer never counts against itself, so its own pair is
left out wherever pairs are listed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from kgeval.arrays import IntArray
from kgeval.data.rows import Rows
from kgeval.ranking.kernels.device.comparison import BYTES_PER_PAIR, ScreenResult, answer_side, candidate_side
from kgeval.ranking.kernels.device.device_pairs import Block, Bounds, expand
from kgeval.ranking.kernels.device.device_vectors import to_device
from kgeval.threads import slices

DeviceCounts = tuple[Any, Any]
"""greater and tied of each answer, int64[answer], on the device"""


class Answers(NamedTuple):
    """The answers of a block of queries, on the device."""

    thresholds: Any
    """float64[answer]"""
    owners: Any
    """int64[answer], the query of each, within the block"""
    places: Any
    """int64[answer], the place of each among the candidates of the chunk or of its query; negative where it has none"""


class Lists(NamedTuple):
    """A list of entities for each query of a block, on the device."""

    offsets: Any
    """int64[query + 1]"""
    owners: Any
    """int64[entry], the query of each"""
    entities: Any
    """int64[entry], a row of the chunk's entities"""
    places: Any
    """int64[entry], its place among the candidates"""

    @classmethod
    def of(cls, places: Rows, entities: IntArray, device: Any) -> Lists:
        return cls(*(to_device(array, device) for array in (places.offsets, places.owners, entities, places.ids)))


@dataclass(frozen=True, eq=False)
class BlockCounting:
    """Counts of one block of queries and one chunk of entities."""

    block: Block
    answers: Answers

    def count_all(self, compare: Callable[..., ScreenResult], bytes_per_pair: float) -> DeviceCounts:
        """Count all entities of the chunk, by the screen first."""
        block, answers, similarity = self.block, self.answers, self.block.host[0].similarity
        greater, tied = self._zeros()
        candidates = candidate_side(similarity, block.entities)
        width = len(block.host[1].biases)
        step = max(1, int(block.memory / (bytes_per_pair * max(width, 1))))
        for part in slices(len(answers.owners), step):
            owners, thresholds = answers.owners[part], answers.thresholds[part]
            sides = (answer_side(similarity, block.queries, block.entities, thresholds, owners), candidates)
            found = compare(similarity, block.queries.rounded[owners], block.entities.rounded, *sides)
            greater[part] += found.above
            places = answers.places[part]
            others = found.candidates != places[found.answers]
            # An answer that the screen decides is above the end of a tie interval, or below: as in the other kernels,
            # it is taken from those that tie with the end, so that above and tied together are without it.
            decided = (places >= 0) & (places < width)
            decided[found.answers[~others]] = False
            tied[part] -= decided.long()
            pairs = found.answers[others] + part.start, found.candidates[others]
            self._decide(*pairs, block.bounds(answers.owners[pairs[0]], pairs[1]), (greater, tied))
        return greater, tied

    def count_listed(self, lists: Lists) -> DeviceCounts:
        answers, counts = self.answers, self._zeros()
        bounds = self.block.bounds(lists.owners, lists.entities)
        pairs_until = (lists.offsets[answers.owners + 1] - lists.offsets[answers.owners]).cumsum(0).cpu().numpy()
        for part in cut_at(pairs_until, max(1, self.block.memory // BYTES_PER_PAIR)):
            rows, entries = expand(answers.owners[part], lists.offsets)
            rows += part.start
            others = lists.places[entries] != answers.places[rows]
            rows, entries = rows[others], entries[others]
            of_entries = Bounds(bounds.lows[entries], bounds.highs[entries])
            self._decide(rows, lists.entities[entries], of_entries, counts)
        return counts

    def _zeros(self) -> DeviceCounts:
        zeros = torch.zeros(len(self.answers.owners), dtype=torch.int64, device=self.answers.owners.device)
        return zeros, zeros.clone()

    def _decide(self, rows: Any, entities: Any, bounds: Bounds, counts: DeviceCounts) -> None:
        """Count pairs of answers and entities; where bounds hold the answer's score, the canonical score decides."""
        thresholds, number = self.answers.thresholds[rows], len(self.answers.owners)
        above = bounds.lows > thresholds
        # NaN is undecided.
        undecided = ~above & ~(bounds.highs < thresholds)
        counts[0].add_(torch.bincount(rows[above], minlength=number))
        rows, entities = rows[undecided], entities[undecided]
        for part in self.block.parts(len(rows)):
            greater, tied = self._compare_canonically(rows[part].cpu().numpy(), entities[part].cpu().numpy())
            for total, found in zip(counts, (greater, tied), strict=True):
                total.add_(torch.from_numpy(found).to(total.device))

    def _compare_canonically(self, rows: IntArray, entities: IntArray) -> tuple[IntArray, IntArray]:
        """Compare canonical scores; greater and tied, int64[answer]."""
        queries, chunk = self.block.host
        self.block.effort[1] += len(rows)
        owners = self.answers.owners[torch.from_numpy(rows).to(self.answers.owners.device)].cpu().numpy()
        order = np.argsort(owners, kind="stable")
        rows, entities, number = rows[order], entities[order], len(self.answers.owners)
        offsets = np.searchsorted(owners[order], np.arange(len(queries.vectors) + 1))
        scores = self.block.canonical(queries, chunk[entities], offsets)
        thresholds = self.answers.thresholds.cpu().numpy()[rows]
        above, ties = rows[scores > thresholds], rows[scores == thresholds]
        return np.bincount(above, minlength=number), np.bincount(ties, minlength=number)


def cut_at(until: IntArray, most: int) -> list[slice]:
    """Cut answers into slices of at most ``most`` pairs, but at least one answer; int64[answer] pairs end with each.

    >>> cut_at(np.array([3, 4, 9, 10]), 5)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    parts, start, done = [], 0, 0
    while start < len(until):
        stop = max(start + 1, int(np.searchsorted(until, done + most, side="right")))
        parts.append(slice(start, stop))
        start, done = stop, int(until[stop - 1])
    return parts
