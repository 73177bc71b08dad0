"""The screened kernel: approximate scores decide almost every comparison, canonical ones the few that are uncertain.

A screen (``screens``) computes approximate scores and a rigorous bound on their error. They say for certain whether a
candidate is above the answer, unless it lies within the bound. Candidates that a screen leaves uncertain, a few in a
thousand, are scored in the precision of the entities (``counting``); those that are uncertain even then, canonically.
So the counts are those of the compiled kernel, bit for bit, at the speed of a matrix product in low precision.

``kernels.kernel`` makes it; ``Kernel`` in ``collectors`` says what each method takes and returns. ``count`` compares
all entities with the answers, ``count_own`` each query's own candidates, and ``select_shared`` keeps the best. Where
screening does not pay, ``_adapt_precision`` takes a better precision, and in the end the compiled kernel's loops.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kgeval.base.arrays import IntArray
from kgeval.base.threads import parallel_for
from kgeval.data.queries import Rows
from kgeval.ranking.kernels.collectors import BestAnswers, Counted, Spans
from kgeval.ranking.kernels.compiled import CompiledKernel, run_loop
from kgeval.ranking.kernels.rounding import Precision
from kgeval.ranking.kernels.screening.counting import CANONICAL, REFINED, ScreenedCounting, count_rows, pairs_of
from kgeval.ranking.kernels.screening.screens import screens_for, vectors_are_bounded
from kgeval.ranking.kernels.screening.selection import ScreenedSelection
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.memory_plan import BLOCK

BLOCKS = 2
"""the number of blocks of queries that a thread takes at a time, with one buffer"""

TRIAL = 2
"""the number of blocks that each precision in question is timed on"""

TRIAL_PAYS = 16 * BLOCKS
"""the number of blocks from which on precisions are timed"""

MOST_REFINED = 0.08
"""the share of comparisons that take a refined score, beyond which bfloat16 does not pay"""

MOST_CANONICAL = 0.3
"""the share of comparisons that take a canonical score, beyond which no screening pays"""


class ScreenedKernel(CompiledKernel):
    """The kernel that screens candidates by their vectors; finished scores it leaves to the compiled kernel."""

    def __init__(
        self, *precisions: Precision, block: int = BLOCK, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._precisions = precisions
        """the precisions in question, of which the first is used; none once screening has turned out not to pay"""
        self.name: str = precisions[0]
        self._block, self._clock = block, clock
        self._compared, self._effort = 0, np.zeros(2, np.int64)

    def stats(self) -> dict[str, Any]:
        refined, canonical = (int(part) for part in self._effort)
        share = canonical / self._compared if self._compared else 0.0
        work = {"screened": self._compared, "refined": refined, "rescored": canonical, "rescored_share": share}
        return {"kernel": self.name, **work}

    def count(self, queries: QueryVectors, entities: EntityVectors, intervals: Spans) -> Counted:
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
        """Count a few queries by each precision, and keep the quickest; return its index, and how many were counted."""
        step = TRIAL * self._block
        seconds = [
            counting.count(slice(place * step, (place + 1) * step), self._block, self._clock)
            for place, counting in enumerate(countings)
        ]
        quickest = int(np.argmin(seconds))
        self._precisions = self._precisions[quickest : quickest + 1]
        self.name = self._precisions[0]
        return quickest, step * len(countings)

    def count_own(self, queries: QueryVectors, entities: EntityVectors, lists: Rows, intervals: Spans) -> Counted:
        if not (self._precisions and vectors_are_bounded(queries, entities, *intervals[1:])):
            return super().count_own(queries, entities, lists, intervals)
        counted, effort = Counted.zero(intervals), np.zeros((len(lists), 2), np.int64)
        arguments = (lists.offsets, lists.ids), pairs_of(queries, entities), intervals, counted.counts, effort
        run_loop(count_rows, len(lists), *arguments, group=self._block)
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
        if self._precisions[:1] == ("bfloat16",) and total[REFINED] > MOST_REFINED * compared:
            self._precisions = self._precisions[1:] or ("float32",)
        if total[CANONICAL] > MOST_CANONICAL * compared:
            self._precisions = ()
