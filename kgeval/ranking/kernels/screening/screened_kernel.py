"""The screened kernel: approximate scores decide almost every comparison, canonical ones the few that are uncertain.

An approximate score with a rigorous bound on its error says for certain whether a candidate is above the answer, unless
it lies within the bound. What a screen leaves uncertain (a few in a thousand) is scored in the precision of the
entities (``counting.py``); what is uncertain even then, canonically. So the counts are those of the compiled
kernel, bit for bit, at the speed of a matrix product in low precision.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.threads import parallel_for
from kgeval.data.queries import Rows
from kgeval.models.similarity import Similarity
from kgeval.ranking.kernels.collectors import BestAnswers, Counted, Intervals
from kgeval.ranking.kernels.compiled import CompiledKernel
from kgeval.ranking.kernels.rounding import Precision
from kgeval.ranking.kernels.screening.counting import (
    CANONICAL,
    REFINED,
    Columns,
    Pairs,
    ScreenedSelection,
    count_rows,
    count_screened,
    pairs_of,
)
from kgeval.ranking.kernels.screening.screens import (
    LARGEST,
    MOST_DIMENSIONS,
    Bfloat16Products,
    Float32Distances,
    Float32Products,
    Screen,
)
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.memory_plan import BLOCK

Clock = Callable[[], float]
"""() -> seconds"""


class ScreenedCounting:
    """Counts a chunk of candidates."""

    def __init__(
        self, screen: Screen, queries: QueryVectors, entities: EntityVectors, intervals: Intervals, counted: Counted
    ) -> None:
        self._screen, self._intervals, self._counts = screen, intervals, counted.counts
        self._columns = Columns(screen.order, *screen.limits(intervals.lowest, intervals.highest, intervals.owners))
        self._pairs: Pairs = pairs_of(queries, entities, in_float64=screen.refined_in_float64)
        self.effort = np.zeros((len(queries.vectors), 2), np.int64)
        """int64[query, 2], how many comparisons took a score in the precision of the entities, and a canonical one"""

    def count(self, part: slice, block: int, clock: Clock = time.perf_counter) -> float:
        """Count for some queries, a block at a time; return the seconds of the quickest block."""
        buffer = self._screen.buffer(min(block, part.stop - part.start))
        quickest = np.inf
        for first in range(part.start, part.stop, block):
            start = clock()
            statistics = self._screen.statistics(slice(first, min(first + block, part.stop)), buffer)
            count_screened(first, statistics, self._columns, self._pairs, self._intervals, self._counts, self.effort)
            quickest = min(quickest, clock() - start)
        return quickest


BLOCKS = 2
"""blocks that a thread takes at a time, with one buffer"""

TRIAL = 2
"""blocks that each precision in question is timed on"""

TRIAL_PAYS = 16 * BLOCKS
"""blocks from which on they are timed"""

SCREENS = {"bfloat16": Bfloat16Products, "float32": Float32Products}


class ScreenedKernel(CompiledKernel):
    """Screens rankings of vectors; finished scores are counted as the compiled kernel does."""

    def __init__(self, *precisions: Precision, block: int = BLOCK, clock: Clock = time.perf_counter) -> None:
        self._precisions = precisions
        """those in question, of which the first is used; none where screening does not pay"""
        self.name: str = precisions[0]
        self._block, self._clock = block, clock
        self._compared, self._effort = 0, np.zeros(2, np.int64)

    def stats(self) -> dict[str, Any]:
        refined, canonical = (int(part) for part in self._effort)
        share = canonical / self._compared if self._compared else 0.0
        work = {"screened": self._compared, "refined": refined, "rescored": canonical, "rescored_share": share}
        return {"kernel": self.name, **work}

    def count(self, queries: QueryVectors, entities: EntityVectors, intervals: Intervals) -> Counted:
        total, counted = len(queries.vectors), Counted.zero(intervals)
        precisions = self._precisions if total >= TRIAL_PAYS * self._block else self._precisions[:1]
        screens = screens_for(precisions, queries, entities, *intervals[1:])
        if not screens:
            return super().count(queries, entities, intervals)
        countings = [ScreenedCounting(screen, queries, entities, intervals, counted) for screen in screens]
        quickest, done = self._choose_precision(countings) if len(countings) > 1 else (0, 0)

        def count(part: slice) -> None:
            countings[quickest].count(slice(done + part.start, done + part.stop), self._block)

        parallel_for(count, total - done, BLOCKS * self._block)
        effort = np.sum([counting.effort for counting in countings], axis=0)
        self._adapt_precision(len(intervals.lowest) * len(entities.biases), effort)
        return counted

    def _choose_precision(self, countings: list[ScreenedCounting]) -> tuple[int, int]:
        """Count a few queries by each precision, and keep the quickest; return its place, and how many are counted."""
        step = TRIAL * self._block
        seconds = [
            counting.count(slice(place * step, (place + 1) * step), self._block, self._clock)
            for place, counting in enumerate(countings)
        ]
        quickest = int(np.argmin(seconds))
        self._precisions = self._precisions[quickest : quickest + 1]
        self.name = self._precisions[0]
        return quickest, step * len(countings)

    def count_own(self, queries: QueryVectors, entities: EntityVectors, lists: Rows, intervals: Intervals) -> Counted:
        if not (self._precisions and _bounded(queries, entities, *intervals[1:])):
            return super().count_own(queries, entities, lists, intervals)
        counted, effort = Counted.zero(intervals), np.zeros((len(lists), 2), np.int64)
        arguments = (lists.offsets, lists.ids), pairs_of(queries, entities), intervals, counted.counts, effort
        parallel_for(lambda part: count_rows(part.start, part.stop, *arguments), len(lists), self._block)
        self._adapt_precision(int(lists.lengths[intervals.owners].sum()), effort)
        return counted

    def select_shared(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        last = best.scores[:, -1]
        screens = screens_for(self._precisions[:1], queries, entities, last[last > -np.inf])
        if not screens:
            super().select_shared(queries, entities, first, best)
            return
        selection = ScreenedSelection(screens[0], queries, entities, first, best)
        parallel_for(lambda part: selection.select(part, self._block), len(queries.vectors), BLOCKS * self._block)
        self._adapt_precision(len(queries.vectors) * len(entities.biases), selection.effort)

    def _adapt_precision(self, compared: int, effort: IntArray) -> None:
        """Where so many comparisons stay uncertain that screening does not pay, take the next better arithmetic."""
        total = effort.sum(axis=0)
        self._compared, self._effort = self._compared + compared, self._effort + total
        if self._precisions[:1] == ("bfloat16",) and total[REFINED] > 0.08 * compared:
            self._precisions = self._precisions[1:] or ("float32",)
        if total[CANONICAL] > 0.3 * compared:
            self._precisions = ()


def screens_for(
    precisions: Sequence[Precision], queries: QueryVectors, entities: EntityVectors, *scores: Float64Array
) -> list[Screen]:
    """Make a screen of each precision for a chunk; none where no bound holds. Only products have several.

    What candidates are compared with is given as arrays of scores.
    """
    if not (precisions and _bounded(queries, entities, *scores)):
        return []
    if queries.similarity in {"dot", "squared_l2"} or (queries.similarity == "l2" and not entities.biases.any()):
        return [SCREENS[precision](queries, entities) for precision in precisions]
    return [] if entities.biases.any() else [Float32Distances(queries, entities)]


def _bounded(queries: QueryVectors, entities: EntityVectors, *scores: Float64Array) -> bool:
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
