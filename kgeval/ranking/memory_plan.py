"""The memory plan: how many queries and candidates a ranking holds at a time. It changes the speed, never a count.

``engine`` cuts the queries of a ranking task by it, ``model_ranking`` those of a side. Costs are bytes, as measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from kgeval.base.arrays import IntArray
from kgeval.base.threads import threads
from kgeval.ranking.ranking_task import RankingTask

CHUNK = 16384
"""the number of candidates held at a time: more of them would not stay in a CPU's cache"""

BLOCK = 256
"""the number of queries whose scores are held at a time, for the same reason"""

BYTES_PER_ID = 96
"""the memory of an id in a ranking task (a candidate, known answer or answer), with the arrays that look it up"""

BYTES_PER_SCORE = 32
"""the memory of a finished score: in the scorer's precision and in float64, with the ids of its triple"""

MOST_SCORED = 4096
"""the largest number of queries for which finished scores are requested at a time"""


@dataclass(frozen=True)
class Plan:
    """The memory that the blocks of a ranking may take: each kind of block gets half of it."""

    memory: int
    batch_size: int | None = None
    """the number of queries whose finished scores are held at a time; by default as many as fit"""

    def tasks(self, ids: IntArray) -> Iterator[slice]:
        """Cut queries into tasks that fit into half of the memory; ``ids``: the ids of each query, int64[query]."""
        return cut(BYTES_PER_ID * (1 + ids), self.memory // 2)

    def chunk(self, dim: int, device_memory: int | None = None) -> int:
        """Return how many shared candidates fit, with vectors, and with scores for one block of queries per thread.

        On a device, half of its memory bounds them too: it holds vectors in their own precision and in low precision.
        """
        scores = 6 * (self.batch_size or BLOCK) * max(threads(), 2)
        most = CHUNK if device_memory is None else max(1, device_memory // 2 // (16 * dim + 128))
        return min(max(1, self.memory // 2 // (32 * dim + scores)), most)

    def by_vectors(self, dim: int, task: RankingTask, *, places: int = 0) -> Iterator[slice]:
        """Cut queries into blocks whose vectors fit: in float64, in low precision, and while they are computed.

        A block also holds the vectors of its answers, ``places`` best candidates for each query, and the queries' own
        candidates: with a vector for each of them, or with the vectors of all entities if that makes fewer blocks.
        """
        costs = 64 * dim + 2048 + 64 * places + (8 * dim + 1024) * np.diff(task.queries.offsets)
        if task.candidates.is_shared:
            return cut(costs, self.memory // 2)
        num_candidates, largest = task.num_candidates, int(task.candidates.rows.ids.max(initial=0))
        alone, together = costs + (64 + 16 * dim) * num_candidates, costs + 64 * num_candidates
        left = self.memory // 2 - (16 * dim + 16) * (largest + 1)
        if left > together.max(initial=0) and together.sum() / left <= alone.sum() / (self.memory // 2):
            return cut(together, left)
        return cut(alone, self.memory // 2)

    def by_scores(self, task: RankingTask) -> Iterator[slice]:
        """Cut queries into blocks whose finished scores fit: a table of candidates and of the other answers."""
        further = np.bincount(task.queries.owners[task.answers < 0], minlength=len(task.queries))
        shared = task.candidates.shared_ids
        if shared is not None:
            return self._cut_table(further, lambda further: len(shared) + np.cumsum(further))
        return self._cut_table(task.num_candidates + np.diff(task.queries.offsets), np.maximum.accumulate)

    def _cut_table(self, cells: IntArray, columns: Callable[[IntArray], IntArray]) -> Iterator[slice]:
        """Cut rows into tables that fit; ``columns`` gives a table's width, from the cells that each row needs."""
        start, most = 0, min(self.batch_size or MOST_SCORED, MOST_SCORED)
        while start < len(cells):
            part = cells[start : start + most]
            sizes = np.arange(1, len(part) + 1) * columns(part) * BYTES_PER_SCORE
            stop = start + max(1, int(np.searchsorted(sizes, self.memory // 2, "right")))
            yield slice(start, stop)
            start = stop


def cut(costs: IntArray, budget: int) -> Iterator[slice]:
    """Cut a range into blocks whose costs fit into a budget; an item that alone exceeds it is a single block.

    >>> [(part.start, part.stop) for part in cut(np.array([3, 3, 3, 9, 1]), 6)]
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    """
    ends, start = np.cumsum(costs), 0
    while start < len(ends):
        before = ends[start] - costs[start]
        stop = max(start + 1, int(np.searchsorted(ends, before + budget, "right")))
        yield slice(start, stop)
        start = stop
