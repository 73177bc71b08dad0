"""The screened kernel: approximate scores decide almost every comparison, canonical ones the few that are uncertain.

An approximate score with a rigorous bound on its error (``kgeval.ranking.kernels.screens``) says for certain whether a
candidate is above the answer, unless it lies within the bound. Only those few in a thousand are scored canonically. So
the counts are those of the compiled kernel, bit for bit, at the speed of a matrix product in low precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from kgeval.ranking.kernels.base import Asked, Offered, Tally
from kgeval.ranking.kernels.canonical import SIMILARITIES, score
from kgeval.ranking.kernels.compiled import CompiledKernel, tasks_of
from kgeval.ranking.kernels.screens import GROUP, Precision, screen
from kgeval.ranking.plan import slices

BLOCK = 512
"""queries whose approximate scores are in hand at a time"""

STRIDE = 64
"""candidates that are compared before it is asked whether one of them is uncertain"""


class ScreenedKernel(CompiledKernel):
    """Screens full rankings; sampled and finished scores are counted as the compiled kernel does."""

    def __init__(self, precision: Precision) -> None:
        self.name: str = precision
        self._precision: Precision | None = precision
        self._compared, self._rescored = 0, 0

    def work(self) -> dict[str, Any]:
        """Tell how the counts were made, and which share of the comparisons needed a canonical score."""
        share = self._rescored / self._compared if self._compared else 0.0
        return {"kernel": self.name, "screened": self._compared, "rescored": self._rescored, "rescored_share": share}

    def count_vectors(self, asked: Asked, offered: Offered, first: int, tally: Tally) -> None:
        """Count a chunk of shared candidates into the tally."""
        made = None if self._precision is None else screen(asked, offered, tally.thresholds, self._precision)
        if made is None:
            super().count_vectors(asked, offered, first, tally)
            return
        contest = tally.contest
        column = np.empty(len(made.order), np.int64)
        column[made.order] = np.arange(len(made.order))
        limits = made.limits(tally.thresholds, contest.queries.owners)
        effort = np.zeros(len(contest.queries), np.int64)
        for block in slices(len(contest.queries), BLOCK):
            _count_block(
                block.start,
                made.statistics(block),
                (SIMILARITIES.index(asked.similarity), asked.vectors, asked.offsets),
                (np.ascontiguousarray(offered.vectors), offered.biases, made.order, column),
                (first, *limits),
                tasks_of(tally),
                tally.counts,
                effort,
            )
        compared, rescored = contest.queries.num_tasks * len(column), int(effort.sum())
        self._compared, self._rescored = self._compared + compared, self._rescored + rescored
        self._precision = _wiser(self._precision, rescored / max(compared, 1))


def _wiser(precision: Precision | None, share: float) -> Precision | None:
    """Where so many comparisons stay uncertain that screening does not pay, take the next better arithmetic."""
    if precision == "bfloat16" and share > 0.04:
        return "float32"
    return None if share > 0.3 else precision


@njit(cache=True, parallel=True)
def _count_block(start, statistics, asked, offered, limits, tasks, counts, effort):  # type: ignore[no-untyped-def]
    for row in prange(len(statistics)):
        query = start + row
        for task in range(tasks[0][query], tasks[0][query + 1]):
            effort[query] += _count_task(query, task, statistics[row], asked, offered, limits, tasks, counts[task])


@njit(cache=True)
def _count_task(query, task, statistics, asked, offered, limits, tasks, counts):  # type: ignore[no-untyped-def]
    """Count the candidates of a chunk against one answer; return how many were scored canonically."""
    _, thresholds, answers, known_offsets, known = tasks
    _, _, order, column = offered
    first, upper, lower = limits
    threshold, rescored = thresholds[task], 0
    greater, tied = 0, 0
    for begin in range(0, len(statistics), STRIDE):
        above, possible = upper[task, begin // GROUP], lower[task, begin // GROUP]
        stride = statistics[begin : begin + STRIDE]
        certain, conceivable = _compare(stride, above, possible)
        greater += certain
        if conceivable > certain:
            for lane in range(len(stride)):
                if possible <= stride[lane] <= above:
                    exact = _exact(query, order[begin + lane], asked, offered)
                    greater += exact > threshold
                    tied += exact == threshold
                    rescored += 1
    answer = answers[task] - first
    if 0 <= answer < len(column):
        tied -= 1
    counts[0] += greater
    counts[1] += tied
    mine = known[known_offsets[query] : known_offsets[query + 1]]
    for place in range(np.searchsorted(mine, first), np.searchsorted(mine, first + len(column))):
        candidate = mine[place] - first
        value = statistics[column[candidate]]
        group = column[candidate] // GROUP
        if candidate == answer or value < lower[task, group]:
            continue
        if value > upper[task, group]:
            greater -= 1
        else:
            exact = _exact(query, candidate, asked, offered)
            greater -= exact > threshold
            tied -= exact == threshold
    counts[2] += greater
    counts[3] += tied
    return rescored


@njit(cache=True)
def _compare(statistics, above, possible):  # type: ignore[no-untyped-def]
    """Count what is certainly and what is conceivably above; in 16 bits, so that a processor adds many at once."""
    certain, conceivable = np.int16(0), np.int16(0)
    for lane in range(len(statistics)):
        certain = np.int16(certain + np.int16(statistics[lane] > above))
        conceivable = np.int16(conceivable + np.int16(statistics[lane] >= possible))
    return certain, conceivable


@njit(cache=True)
def _exact(query, candidate, asked, offered):  # type: ignore[no-untyped-def]
    similarity, queries, offsets = asked
    vectors, biases, _, _ = offered
    return score(similarity, queries[query], vectors[candidate]) + biases[candidate] + offsets[query]
