"""The compiled kernel: numba loops that score canonically and count while the scores are in cache.

What numba keeps of them on disk holds the loops of ``canonical`` that they call: where those change, it must go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.compiling import njit
from kgeval.data.rows import Rows
from kgeval.ranking.kernels.best_selection import best_arrays, select_row, select_rows
from kgeval.ranking.kernels.canonical import arrays_of, compare, score
from kgeval.ranking.kernels.collectors import BestAnswers, Counted, Intervals, Kernel
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.threads import parallel_for

TILE = 64
"""candidates that a group of queries meets before the next ones are fetched"""

GROUP = 32
"""queries that a thread takes at a time"""


class CompiledKernel(Kernel):
    """Scores and counts in one pass, in parallel over queries."""

    name = "compiled"

    def scores(self, queries: QueryVectors, entities: EntityVectors, own: Rows) -> Float64Array:
        found = np.empty(len(own.ids))
        _run(_score_rows, len(queries.vectors), arrays_of(queries, entities), own.offsets, own.ids, found)
        return found

    def count(self, queries: QueryVectors, entities: EntityVectors, intervals: Intervals) -> Counted:
        return _count(_count_tiles, intervals, arrays_of(queries, entities))

    def count_own(self, queries: QueryVectors, entities: EntityVectors, own: Rows, intervals: Intervals) -> Counted:
        scores = self.scores(queries, entities, own)
        return _count(_count_rows, intervals, scores, own.offsets[:-1], own.lengths)

    def count_known(self, queries: QueryVectors, entities: EntityVectors, known: Rows, intervals: Intervals) -> Counted:
        return CompiledKernel.count_own(self, queries, entities, known, intervals)

    def count_scores(self, scores: Float64Array, starts: IntArray, lengths: IntArray, intervals: Intervals) -> Counted:
        return _count(_count_rows, intervals, scores, starts, lengths)

    def select_shared(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        _run(_select_tiles, len(queries.vectors), arrays_of(queries, entities), first, best_arrays(best))

    def select_scores(self, scores: Float64Array, best: BestAnswers) -> None:
        _run(select_rows, len(scores), scores, 0, best_arrays(best))


def _run(loop: Callable[..., None], total: int, *arguments: Any) -> None:
    parallel_for(lambda part: loop(part.start, part.stop, *arguments), total, GROUP)


def _count(loop: Callable[..., None], intervals: Intervals, *arguments: Any) -> Counted:
    counted = Counted.zero(intervals)
    _run(loop, len(counted.undefined), *arguments, intervals, *counted)
    return counted


@njit(cache=True, nogil=True)
def _count_tiles(begin, end, arrays, intervals, counts, undefined):  # type: ignore[no-untyped-def]
    found, total = np.empty(TILE), len(arrays.entities)
    for start in range(0, total, TILE):
        tile = np.arange(start, min(start + TILE, total))
        row = found[: len(tile)]
        for query in range(begin, end):
            score(arrays, query, tile, row)
            _count_row(query, row, intervals, counts, undefined)


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
def _count_rows(begin, end, scores, starts, lengths, intervals, counts, undefined):  # type: ignore[no-untyped-def]
    for query in range(begin, end):
        row = scores[starts[query] : starts[query] + lengths[query]]
        _count_row(query, row, intervals, counts, undefined)


@njit(cache=True)
def _count_row(query, scores, intervals, counts, undefined):  # type: ignore[no-untyped-def]
    holes = 0
    for value in scores:
        holes += np.isnan(value)
    undefined[query] |= holes > 0
    for answer in range(intervals.offsets[query], intervals.offsets[query + 1]):
        above, tied = compare(scores, intervals.lowest[answer], intervals.highest[answer])
        counts[answer, 0] += above
        counts[answer, 1] += tied


@njit(cache=True, nogil=True)
def _score_rows(begin, end, arrays, offsets, ids, out):  # type: ignore[no-untyped-def]
    for query in range(begin, end):
        own = slice(offsets[query], offsets[query + 1])
        score(arrays, query, ids[own], out[own])
