"""The screened kernel: approximate scores decide almost every comparison, canonical ones the few that are uncertain.

An approximate score with a rigorous bound on its error says for certain whether a candidate is above the answer, unless
it lies within the bound. What a screen leaves uncertain (a few in a thousand) is scored in the precision of the
entities (``refinement.py``); what is uncertain even then, canonically. So the counts are those of the compiled
kernel, bit for bit, at the speed of a matrix product in low precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.rows import Rows
from kgeval.ranking.kernels.compiled import CompiledKernel, tasks_of
from kgeval.ranking.kernels.kernel import CountAccumulator, EntityVectors, Precision, QueryVectors
from kgeval.ranking.kernels.screening.counting import EXACT, NEAR, Chunk, count_rows, count_screened
from kgeval.ranking.kernels.screening.distances import Float32Distances
from kgeval.ranking.kernels.screening.products import Bfloat16Products, Float32Products
from kgeval.ranking.kernels.screening.refinement import pairs_of
from kgeval.ranking.kernels.screening.screens import LARGEST, Screen
from kgeval.ranking.plan import BLOCK
from kgeval.threads import parallel_for

BLOCKS = 4
"""blocks that a thread takes at a time, with one buffer"""


class ScreenedKernel(CompiledKernel):
    """Screens rankings of vectors; finished scores are counted as the compiled kernel does."""

    def __init__(self, precision: Precision, block: int = BLOCK) -> None:
        self.name: str = precision
        self._precision: Precision | None = precision
        self._block = block
        self._compared, self._effort = 0, np.zeros(2, np.int64)

    def stats(self) -> dict[str, Any]:
        """Tell how the counts were made, and which share of the comparisons needed a canonical score."""
        near, canonical = (int(part) for part in self._effort)
        share = canonical / self._compared if self._compared else 0.0
        work = {"screened": self._compared, "refined": near, "rescored": canonical, "rescored_share": share}
        return {"kernel": self.name, **work}

    def count_shared(self, asked: QueryVectors, offered: EntityVectors, first: int, tally: CountAccumulator) -> None:
        """Count a chunk of shared candidates into the tally."""
        made = self.screen(asked, offered, tally.thresholds)
        if made is None:
            super().count_shared(asked, offered, first, tally)
            return
        queries = tally.contest.queries
        chunk = Chunk(first, made.order, *made.limits(tally.thresholds, queries.owners))
        effort = np.zeros((len(queries), 2), np.int64)
        pairs, tasks = pairs_of(asked, offered), tasks_of(tally)

        def count(part: slice) -> None:
            buffer = made.buffer(min(self._block, part.stop - part.start))
            for start in range(part.start, part.stop, self._block):
                statistics = made.statistics(slice(start, min(start + self._block, part.stop)), buffer)
                count_screened(start, statistics, chunk, pairs, tasks, tally.counts, effort)

        parallel_for(count, len(queries), BLOCKS * self._block)
        self._adapt_precision(queries.num_tasks * len(offered.biases), effort)

    def count_per_query(self, asked: QueryVectors, offered: EntityVectors, own: Rows, tally: CountAccumulator) -> None:
        """Count each query's own candidates into the tally."""
        if self._precision is None or not _bounded(asked, offered, tally.thresholds):
            super().count_per_query(asked, offered, own, tally)
            return
        contest = tally.contest
        effort = np.zeros((len(contest.queries), 2), np.int64)
        pairs, tasks = pairs_of(asked, offered), tasks_of(tally)

        def count(part: slice) -> None:
            count_rows(part.start, part.stop, (own.offsets, own.ids), pairs, tasks, tally.counts, effort)

        parallel_for(count, len(contest.queries), self._block)
        self._adapt_precision(int(contest.num_candidates[contest.queries.owners].sum()), effort)

    def screen(self, asked: QueryVectors, offered: EntityVectors, answers: Float64Array) -> Screen | None:
        """Choose the screen for a chunk; none where no bound holds, or screening does not pay."""
        if self._precision is None or not _bounded(asked, offered, answers):
            return None
        if asked.similarity in {"dot", "squared_l2"} or (asked.similarity == "l2" and not offered.biases.any()):
            make = Bfloat16Products if self._precision == "bfloat16" else Float32Products
            return make(asked, offered)
        return None if offered.biases.any() else Float32Distances(asked, offered)

    def _adapt_precision(self, compared: int, effort: IntArray) -> None:
        """Where so many comparisons stay uncertain that screening does not pay, take the next better arithmetic."""
        total = effort.sum(axis=0)
        self._compared, self._effort = self._compared + compared, self._effort + total
        if self._precision == "bfloat16" and total[NEAR] > 0.08 * compared:
            self._precision = "float32"
        if total[EXACT] > 0.3 * compared:
            self._precision = None


def _bounded(asked: QueryVectors, offered: EntityVectors, answers: Float64Array) -> bool:
    """Whether the error bounds hold: not where numbers are huge, infinite or undefined."""
    # NaN stays NaN through these maxima, and is not below anything.
    sizes = (asked.norms, asked.offsets, offered.norms, offered.biases)
    # An answer may owe its score to a bias in another chunk, so its size is asked for by itself.
    scores = LARGEST**2 if asked.similarity in {"dot", "squared_l2"} else LARGEST
    return bool(np.max([np.abs(size).max(initial=0.0) for size in sizes]) < LARGEST) and bool(
        np.abs(answers).max(initial=0.0) < scores
    )
