"""The compiled kernel: numba loops that score canonically and count while the scores are in cache.

What numba keeps of them on disk holds the loops of ``canonical`` that they call: where those change, it must go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.compiling import njit
from kgeval.data.rows import Rows
from kgeval.ranking.kernels.best_selection import best_arrays, known_within, select_row, select_rows
from kgeval.ranking.kernels.canonical import arrays_of, score
from kgeval.ranking.kernels.collectors import BestAnswers, CountAccumulator, Kernel
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.threads import parallel_for

TILE = 64
"""candidates that a group of queries meets before the next ones are fetched"""

GROUP = 32
"""queries that a thread takes at a time"""


class CompiledKernel(Kernel):
    """Scores and counts in one pass, in parallel over queries."""

    name = "compiled"

    def pairs(self, queries: QueryVectors, entities: EntityVectors, offsets: IntArray) -> Float64Array:
        return self._scores(queries, entities, Rows(offsets, np.arange(len(entities.biases))))

    def count_shared(
        self, queries: QueryVectors, entities: EntityVectors, first: int, accumulator: CountAccumulator
    ) -> None:
        _run(_count_tiles, len(queries.vectors), arrays_of(queries, entities), first, *_counted(accumulator))

    def count_per_query(
        self, queries: QueryVectors, entities: EntityVectors, own: Rows, accumulator: CountAccumulator
    ) -> None:
        self.count_scores(self._scores(queries, entities, own), own.offsets[:-1], accumulator)

    def count_scores(self, scores: Float64Array, starts: IntArray, accumulator: CountAccumulator) -> None:
        widths = accumulator.task.num_candidates
        _run(_count_rows, len(widths), scores, starts, widths, *_counted(accumulator))

    def _scores(self, queries: QueryVectors, entities: EntityVectors, own: Rows) -> Float64Array:
        """Score the entities in each query's row canonically; float64[id in the rows]."""
        found = np.empty(len(own.ids))
        _run(_score_rows, len(queries.vectors), arrays_of(queries, entities), own.offsets, own.ids, found)
        return found

    def select_shared(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        _run(_select_tiles, len(queries.vectors), arrays_of(queries, entities), first, best_arrays(best))

    def select_scores(self, scores: Float64Array, best: BestAnswers) -> None:
        _run(select_rows, len(scores), scores, 0, best_arrays(best))


def _run(loop: Callable[..., None], total: int, *arguments: Any) -> None:
    parallel_for(lambda part: loop(part.start, part.stop, *arguments), total, GROUP)


class AnswerArrays(NamedTuple):
    """The answers of an accumulator as plain arrays, for the compiled loops."""

    offsets: IntArray
    """int64[query + 1], where each query's answers begin"""
    thresholds: Float64Array
    positions: IntArray
    """int64[answer], the position of each answer, -1 where it is no candidate"""
    known_offsets: IntArray
    """int64[query + 1], where each query's known answers begin"""
    known: IntArray
    """the positions of known answers, ascending for each query"""


def answer_arrays(accumulator: CountAccumulator) -> AnswerArrays:
    task = accumulator.task
    return AnswerArrays(task.queries.offsets, accumulator.thresholds, task.answers, task.known.offsets, task.known.ids)


def _counted(accumulator: CountAccumulator) -> tuple[Any, ...]:
    return answer_arrays(accumulator), accumulator.counts, accumulator.undefined


@njit(cache=True, nogil=True)
def _count_tiles(begin, end, arrays, first, answers, counts, undefined):  # type: ignore[no-untyped-def]
    found, total = np.empty(TILE), len(arrays.entities)
    for start in range(0, total, TILE):
        tile = np.arange(start, min(start + TILE, total))
        row = found[: len(tile)]
        for query in range(begin, end):
            score(arrays, query, tile, row)
            _count_row(query, row, first + start, answers, counts, undefined)


@njit(cache=True, nogil=True)
def _select_tiles(begin, end, arrays, first, best):  # type: ignore[no-untyped-def]
    total = len(arrays.entities)
    found = np.empty((end - begin, total))
    for start in range(0, total, TILE):
        tile = np.arange(start, min(start + TILE, total))
        for query in range(begin, end):
            score(arrays, query, tile, found[query - begin, start : start + TILE])
    for query in range(begin, end):
        select_row(query, found[query - begin], first, best)


@njit(cache=True, nogil=True)
def _count_rows(begin, end, scores, starts, widths, answers, counts, undefined):  # type: ignore[no-untyped-def]
    for query in range(begin, end):
        _count_row(query, scores[starts[query] : starts[query] + widths[query]], 0, answers, counts, undefined)


@njit(cache=True)
def _count_row(query, scores, first, answers, counts, undefined):  # type: ignore[no-untyped-def]
    """Count the scores of the candidates at positions first, first + 1, … against each answer of a query."""
    known = known_within(query, first, first + len(scores), answers)
    holes = 0
    for value in scores:
        holes += np.isnan(value)
    undefined[query] |= holes > 0
    for answer in range(answers.offsets[query], answers.offsets[query + 1]):
        threshold, own = answers.thresholds[answer], answers.positions[answer]
        greater, tied = 0, 0
        for value in scores:
            greater += value > threshold
            tied += value == threshold
        if first <= own < first + len(scores):
            tied -= 1
        counts[answer, 0] += greater
        counts[answer, 1] += tied
        for position in known:
            if position != own:
                greater -= scores[position - first] > threshold
                tied -= scores[position - first] == threshold
        counts[answer, 2] += greater
        counts[answer, 3] += tied


@njit(cache=True, nogil=True)
def _score_rows(begin, end, arrays, offsets, ids, out):  # type: ignore[no-untyped-def]
    for query in range(begin, end):
        own = slice(offsets[query], offsets[query + 1])
        score(arrays, query, ids[own], out[own])
