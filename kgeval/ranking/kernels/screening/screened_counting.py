"""Screened counting: a chunk of shared candidates is counted block by block, by a screen."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from kgeval.ranking.kernels.accumulator import CountAccumulator
from kgeval.ranking.kernels.compiled import answer_arrays
from kgeval.ranking.kernels.screening.counting import Chunk, count_screened
from kgeval.ranking.kernels.screening.refinement import Pairs, pairs_of
from kgeval.ranking.kernels.screening.screens import Screen
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.threads import slices


class ScreenedCounting:
    """Counts a chunk into an accumulator."""

    def __init__(
        self, screen: Screen, queries: QueryVectors, entities: EntityVectors, first: int, accumulator: CountAccumulator
    ) -> None:
        self._screen, self._counts = screen, accumulator.counts
        limits = screen.limits(accumulator.thresholds, accumulator.task.queries.owners)
        self._chunk = Chunk(first, screen.order, *limits)
        self._pairs: Pairs = pairs_of(queries, entities)
        self._answers: Any = answer_arrays(accumulator)
        self.effort = np.zeros((len(queries.vectors), 2), np.int64)
        """int64[query, 2], how many comparisons took a score in the precision of the entities, and a canonical one"""

    def count(self, part: slice, block: int) -> float:
        """Count for some queries, a block at a time; return the seconds of the quickest block."""
        buffer = self._screen.buffer(min(block, part.stop - part.start))
        quickest = np.inf
        for place in slices(part.stop - part.start, block):
            start = time.perf_counter()
            rows = slice(part.start + place.start, part.start + place.stop)
            statistics = self._screen.statistics(rows, buffer)
            count_screened(rows.start, statistics, self._chunk, self._pairs, self._answers, self._counts, self.effort)
            quickest = min(quickest, time.perf_counter() - start)
        return quickest
