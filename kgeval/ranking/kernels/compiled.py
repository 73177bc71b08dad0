"""The compiled kernel: numba loops that score canonically and count while the scores are in cache.

What numba keeps of them on disk holds the loops of ``canonical`` that they call: where those change, it must go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.compiling import njit
from kgeval.data.rows import Rows
from kgeval.ranking.kernels.best_selection import best_arrays, select_row, select_rows
from kgeval.ranking.kernels.canonical import SIMILARITIES, scores
from kgeval.ranking.kernels.collectors import BestAnswers, CountAccumulator
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.threads import parallel_for

TILE = 64
"""candidates that a group of queries meets before the next ones are fetched"""

GROUP = 32
"""queries that a thread takes at a time"""


class CompiledKernel:
    """Scores and counts in one pass, in parallel over queries."""

    name = "compiled"

    def stats(self) -> dict[str, Any]:
        return {"kernel": self.name}

    def pairs(self, queries: QueryVectors, entities: EntityVectors, offsets: IntArray) -> Float64Array:
        """Score pairs canonically; float64[entity]."""
        return self._scores(queries, entities, Rows(offsets, np.arange(len(entities.biases))))

    def count_shared(
        self, queries: QueryVectors, entities: EntityVectors, first: int, accumulator: CountAccumulator
    ) -> None:
        arrays, answers = _arrays(queries, entities), answer_arrays(accumulator)
        counted = (accumulator.counts, accumulator.undefined)
        parallel_for(
            lambda part: _count_tiles(part.start, part.stop, *arrays, first, answers, counted),
            len(queries.vectors),
            GROUP,
        )

    def count_per_query(
        self, queries: QueryVectors, entities: EntityVectors, own: Rows, accumulator: CountAccumulator
    ) -> None:
        self.count_scores(self._scores(queries, entities, own), own.offsets[:-1], accumulator)

    def count_scores(self, scores: Float64Array, starts: IntArray, accumulator: CountAccumulator) -> None:
        widths, answers = accumulator.task.num_candidates, answer_arrays(accumulator)
        counted = (accumulator.counts, accumulator.undefined)
        parallel_for(
            lambda part: _count_rows(part.start, part.stop, scores, (starts, widths), answers, counted),
            len(widths),
            GROUP,
        )

    def _scores(self, queries: QueryVectors, entities: EntityVectors, own: Rows) -> Float64Array:
        """Score the entities in each query's row canonically; float64[id in the rows]."""
        found = np.empty(len(own.ids))
        arrays, rows = _arrays(queries, entities), (own.offsets, own.ids)
        parallel_for(lambda part: _score_rows(part.start, part.stop, *arrays, rows, found), len(queries.vectors), GROUP)
        return found

    def select_shared(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        arrays, found = _arrays(queries, entities), best_arrays(best)
        parallel_for(
            lambda part: _select_tiles(part.start, part.stop, *arrays, first, found), len(queries.vectors), GROUP
        )

    def select_scores(self, scores: Float64Array, best: BestAnswers) -> None:
        found = best_arrays(best)
        parallel_for(lambda part: select_rows(part.start, part.stop, scores, 0, found), len(scores), GROUP)


def _arrays(queries: QueryVectors, entities: EntityVectors) -> tuple[int, tuple[Any, ...], tuple[Any, ...]]:
    return (
        SIMILARITIES.index(queries.similarity),
        (queries.vectors, queries.offsets),
        (np.ascontiguousarray(entities.vectors), entities.biases),
    )


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


@njit(cache=True, nogil=True)
def _count_tiles(begin, end, similarity, query_arrays, entity_arrays, first, answers, counted):  # type: ignore[no-untyped-def]
    queries, offsets = query_arrays
    vectors, biases = entity_arrays
    found, everyone = np.empty(TILE), np.arange(TILE)
    for start in range(0, len(vectors), TILE):
        width = min(TILE, len(vectors) - start)
        for query in range(begin, end):
            scores(similarity, queries[query], vectors[start : start + width], everyone[:width], found)
            for lane in range(width):
                found[lane] = found[lane] + biases[start + lane] + offsets[query]
            _count_row(query, found[:width], first + start, answers, counted)


@njit(cache=True, nogil=True)
def _select_tiles(begin, end, similarity, query_arrays, entity_arrays, first, best):  # type: ignore[no-untyped-def]
    queries, offsets = query_arrays
    vectors, biases = entity_arrays
    found, everyone = np.empty((end - begin, len(vectors))), np.arange(TILE)
    for start in range(0, len(vectors), TILE):
        stop = min(start + TILE, len(vectors))
        for query in range(begin, end):
            row = found[query - begin, start:stop]
            scores(similarity, queries[query], vectors[start:stop], everyone[: stop - start], row)
            for lane in range(stop - start):
                row[lane] = row[lane] + biases[start + lane] + offsets[query]
    for query in range(begin, end):
        select_row(query, found[query - begin], first, best)


@njit(cache=True, nogil=True)
def _count_rows(begin, end, scores, spans, answers, counted):  # type: ignore[no-untyped-def]
    starts, widths = spans
    for query in range(begin, end):
        _count_row(query, scores[starts[query] : starts[query] + widths[query]], 0, answers, counted)


@njit(cache=True)
def _count_row(query, scores, first, answers, counted):  # type: ignore[no-untyped-def]
    """Count the scores of the candidates at positions first, first + 1, … against each answer of a query."""
    counts, undefined = counted
    known = answers.known[answers.known_offsets[query] : answers.known_offsets[query + 1]]
    begin, end = np.searchsorted(known, first), np.searchsorted(known, first + len(scores))
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
        for position in known[begin:end]:
            if position != own:
                greater -= scores[position - first] > threshold
                tied -= scores[position - first] == threshold
        counts[answer, 2] += greater
        counts[answer, 3] += tied


@njit(cache=True, nogil=True)
def _score_rows(begin, end, similarity, query_arrays, entity_arrays, rows, out):  # type: ignore[no-untyped-def]
    queries, offsets = query_arrays
    vectors, biases = entity_arrays
    row_offsets, ids = rows
    for query in range(begin, end):
        mine = slice(row_offsets[query], row_offsets[query + 1])
        scores(similarity, queries[query], vectors, ids[mine], out[mine])
        for row in range(mine.start, mine.stop):
            out[row] = out[row] + biases[ids[row]] + offsets[query]
