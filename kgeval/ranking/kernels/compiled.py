"""The compiled kernel: numba loops that score canonically and count while the scores are in cache.

What numba keeps of them on disk holds the loops of ``canonical`` that they call: where those change, it must go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.compiling import njit
from kgeval.data.rows import Rows
from kgeval.ranking.kernels.canonical import SIMILARITIES, scores
from kgeval.ranking.kernels.kernel import CountAccumulator, EntityVectors, QueryVectors, count_pairs
from kgeval.threads import parallel_for

TILE = 64
"""candidates that a group of queries meets before the next ones are fetched"""

GROUP = 32
"""queries that a thread takes at a time"""


class CompiledKernel:
    """Scores and counts in one pass, in parallel over queries."""

    name = "compiled"

    def stats(self) -> dict[str, Any]:
        """Tell how the counts were made."""
        return {"kernel": self.name}

    def pairs(self, asked: QueryVectors, offered: EntityVectors, offsets: IntArray) -> Float64Array:
        """Score pairs canonically; float64[offered]."""
        found = np.empty(len(offered.biases))
        similarity, queries, entities = _arrays(asked, offered)
        parallel_for(
            lambda part: _score_pairs(part.start, part.stop, similarity, queries, entities, offsets, found),
            len(asked.vectors),
            GROUP,
        )
        return found

    def count_shared(self, asked: QueryVectors, offered: EntityVectors, first: int, tally: CountAccumulator) -> None:
        """Count a chunk of shared candidates into the tally."""
        arrays, tasks, counted = _arrays(asked, offered), tasks_of(tally), (tally.counts, tally.undefined)
        parallel_for(
            lambda part: _count_tiles(part.start, part.stop, *arrays, first, tasks, counted),
            len(asked.vectors),
            GROUP,
        )

    def count_per_query(self, asked: QueryVectors, offered: EntityVectors, own: Rows, tally: CountAccumulator) -> None:
        """Count each query's own candidates into the tally."""
        count_pairs(self, asked, offered, own, tally)

    def count_scores(self, scores: Float64Array, starts: IntArray, tally: CountAccumulator) -> None:
        """Count finished scores into the tally."""
        widths, tasks, counted = tally.contest.num_candidates, tasks_of(tally), (tally.counts, tally.undefined)
        parallel_for(
            lambda part: _count_rows(part.start, part.stop, scores, (starts, widths), tasks, counted),
            len(widths),
            GROUP,
        )


def _arrays(asked: QueryVectors, offered: EntityVectors) -> tuple[int, tuple[Any, ...], tuple[Any, ...]]:
    return (
        SIMILARITIES.index(asked.similarity),
        (asked.vectors, asked.offsets),
        (np.ascontiguousarray(offered.vectors), offered.biases),
    )


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


def tasks_of(tally: CountAccumulator) -> Tasks:
    """Take the tasks of a tally."""
    contest = tally.contest
    return Tasks(contest.queries.offsets, tally.thresholds, contest.answers, contest.known.offsets, contest.known.ids)


@njit(cache=True, nogil=True)
def _count_tiles(begin, end, similarity, asked, offered, first, tasks, counted):  # type: ignore[no-untyped-def]
    queries, offsets = asked
    vectors, biases = offered
    found, everyone = np.empty(TILE), np.arange(TILE)
    for start in range(0, len(vectors), TILE):
        width = min(TILE, len(vectors) - start)
        for query in range(begin, end):
            scores(similarity, queries[query], vectors[start : start + width], everyone[:width], found)
            for lane in range(width):
                found[lane] = found[lane] + biases[start + lane] + offsets[query]
            _count_row(query, found[:width], first + start, tasks, counted)


@njit(cache=True, nogil=True)
def _count_rows(begin, end, scores, spans, tasks, counted):  # type: ignore[no-untyped-def]
    starts, widths = spans
    for query in range(begin, end):
        _count_row(query, scores[starts[query] : starts[query] + widths[query]], 0, tasks, counted)


@njit(cache=True)
def _count_row(query, scores, first, tasks, counted):  # type: ignore[no-untyped-def]
    """Count the scores of the candidates at positions first, first + 1, … against each answer of a query."""
    counts, undefined = counted
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


@njit(cache=True, nogil=True)
def _score_pairs(begin, end, similarity, asked, offered, row_offsets, out):  # type: ignore[no-untyped-def]
    queries, offsets = asked
    vectors, biases = offered
    for query in range(begin, end):
        mine = slice(row_offsets[query], row_offsets[query + 1])
        scores(similarity, queries[query], vectors[mine], np.arange(mine.stop - mine.start), out[mine])
        for row in range(mine.start, mine.stop):
            out[row] = out[row] + biases[row] + offsets[query]
