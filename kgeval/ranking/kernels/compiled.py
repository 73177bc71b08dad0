"""The compiled kernel: numba loops that score canonically and count while the scores are in cache."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from kgeval.arrays import Float64Array, IntArray
from kgeval.graph.rows import Rows
from kgeval.ranking.kernels.base import Asked, Offered, Tally, count_pairs
from kgeval.ranking.kernels.canonical import SIMILARITIES, scores

TILE = 64
"""candidates that a group of queries meets before the next ones are fetched"""

GROUP = 32
"""queries that a thread takes along"""


class CompiledKernel:
    """Scores and counts in one pass, in parallel over queries."""

    name = "compiled"

    def work(self) -> dict[str, Any]:
        """Tell how the counts were made."""
        return {"kernel": self.name}

    def pairs(self, asked: Asked, offered: Offered, offsets: IntArray) -> Float64Array:
        """Score pairs canonically; float64[offered]."""
        found = np.empty(len(offered.biases))
        _score_pairs(
            SIMILARITIES.index(asked.similarity),
            (asked.vectors, asked.offsets),
            (np.ascontiguousarray(offered.vectors), offered.biases),
            offsets,
            found,
        )
        return found

    def count_shared(self, asked: Asked, offered: Offered, first: int, tally: Tally) -> None:
        """Count a chunk of shared candidates into the tally."""
        _count_tiles(
            SIMILARITIES.index(asked.similarity),
            (asked.vectors, asked.offsets),
            (np.ascontiguousarray(offered.vectors), offered.biases),
            first,
            tasks_of(tally),
            tally.counts,
            tally.undefined,
        )

    def count_own(self, asked: Asked, offered: Offered, own: Rows, tally: Tally) -> None:
        """Count each query's own candidates into the tally."""
        count_pairs(self, asked, offered, own, tally)

    def count_scores(self, scores: Float64Array, starts: IntArray, tally: Tally) -> None:
        """Count finished scores into the tally."""
        _count_rows(scores, starts, tally.contest.widths, tasks_of(tally), tally.counts, tally.undefined)


class Tasks(NamedTuple):
    """The tasks of a tally as plain arrays, for the compiled loops."""

    offsets: IntArray
    """int64[query + 1], where each query's tasks begin"""
    thresholds: Float64Array
    answers: IntArray
    """int64[task], the position of each answer, -1 where it is no candidate"""
    known_offsets: IntArray
    """int64[query + 1], where each query's known answers begin"""
    known: IntArray
    """the positions of known answers, ascending for each query"""


def tasks_of(tally: Tally) -> Tasks:
    """Take the tasks of a tally."""
    contest = tally.contest
    return Tasks(contest.queries.offsets, tally.thresholds, contest.answers, contest.known.offsets, contest.known.ids)


@njit(cache=True, parallel=True)
def _count_tiles(similarity, asked, offered, first, tasks, counts, undefined):  # type: ignore[no-untyped-def]
    queries, offsets = asked
    vectors, biases = offered
    for group in prange(-(-len(queries) // GROUP)):
        found, everyone = np.empty(TILE), np.arange(TILE)
        for start in range(0, len(vectors), TILE):
            width = min(TILE, len(vectors) - start)
            for query in range(group * GROUP, min(len(queries), (group + 1) * GROUP)):
                scores(similarity, queries[query], vectors[start : start + width], everyone[:width], found)
                for lane in range(width):
                    found[lane] = found[lane] + biases[start + lane] + offsets[query]
                _count_row(query, found[:width], first + start, tasks, counts, undefined)


@njit(cache=True, parallel=True)
def _count_rows(scores, starts, widths, tasks, counts, undefined):  # type: ignore[no-untyped-def]
    for query in prange(len(widths)):
        _count_row(query, scores[starts[query] : starts[query] + widths[query]], 0, tasks, counts, undefined)


@njit(cache=True)
def _count_row(query, scores, first, tasks, counts, undefined):  # type: ignore[no-untyped-def]
    """Count the scores of the candidates at positions first, first + 1, … against each answer of a query."""
    known = tasks.known[tasks.known_offsets[query] : tasks.known_offsets[query + 1]]
    begin, end = np.searchsorted(known, first), np.searchsorted(known, first + len(scores))
    holes = 0
    for value in scores:
        holes += np.isnan(value)
    undefined[query] |= holes > 0
    for task in range(tasks.offsets[query], tasks.offsets[query + 1]):
        threshold, answer = tasks.thresholds[task], tasks.answers[task]
        greater, tied = 0, 0
        for value in scores:
            greater += value > threshold
            tied += value == threshold
        if first <= answer < first + len(scores):
            tied -= 1
        counts[task, 0] += greater
        counts[task, 1] += tied
        for position in known[begin:end]:
            if position != answer:
                greater -= scores[position - first] > threshold
                tied -= scores[position - first] == threshold
        counts[task, 2] += greater
        counts[task, 3] += tied


@njit(cache=True, parallel=True)
def _score_pairs(similarity, asked, offered, row_offsets, out):  # type: ignore[no-untyped-def]
    queries, offsets = asked
    vectors, biases = offered
    for query in prange(len(queries)):
        mine = slice(row_offsets[query], row_offsets[query + 1])
        scores(similarity, queries[query], vectors[mine], np.arange(mine.stop - mine.start), out[mine])
        for row in range(mine.start, mine.stop):
            out[row] = out[row] + biases[row] + offsets[query]
