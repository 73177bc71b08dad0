"""The compiled kernel: numba loops that score canonically and count while the scores are in cache.

``kernels.kernel`` makes it; the screened kernel extends it. A canonical score is a float64 score that is summed in one
fixed order: that of ``kgeval.models.similarity``. The terms of a sum are computed first, many at a time; then they are
added in eight partial sums, the lanes. numba neither reorders additions nor fuses them with multiplications, so all
bits equal those of the reference kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.compiling import njit
from kgeval.base.threads import parallel_for
from kgeval.data.queries import Rows
from kgeval.models.kernels import sum_in_lanes
from kgeval.models.similarity import Similarity
from kgeval.ranking.kernels.best_selection import best_arrays, select_row, select_rows
from kgeval.ranking.kernels.collectors import BestAnswers, Counted, Kernel, Spans
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors

TILE = 64
"""the number of candidates that are scored for a group of queries before the next candidates are fetched"""

GROUP = 32
"""the number of queries that a thread takes at a time, if each has many scores"""

GROUP_OF_ROWS = 512
"""the number of queries that a thread takes at a time, if each has a short list"""


class CompiledKernel(Kernel):
    """The kernel that scores and counts in one pass, in parallel over queries."""

    name = "compiled"

    def scores(self, queries: QueryVectors, entities: EntityVectors, lists: Rows) -> Float64Array:
        out = np.empty(len(lists.ids))
        arrays = arrays_of(queries, entities)
        run_loop(_score_rows, len(lists), arrays, lists.offsets, lists.ids, out, group=GROUP_OF_ROWS)
        return out

    def count(self, queries: QueryVectors, entities: EntityVectors, intervals: Spans) -> Counted:
        return _count(_count_tiles, intervals, arrays_of(queries, entities))

    def count_own(self, queries: QueryVectors, entities: EntityVectors, lists: Rows, intervals: Spans) -> Counted:
        scores = self.scores(queries, entities, lists)
        return _count(_count_rows, intervals, scores, lists.offsets[:-1], lists.lengths, group=GROUP_OF_ROWS)

    def count_known(self, queries: QueryVectors, entities: EntityVectors, known: Rows, intervals: Spans) -> Counted:
        return CompiledKernel.count_own(self, queries, entities, known, intervals)

    def count_scores(self, scores: Float64Array, starts: IntArray, lengths: IntArray, intervals: Spans) -> Counted:
        return _count(_count_rows, intervals, scores, starts, lengths)

    def select_shared(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        run_loop(_select_tiles, len(queries.vectors), arrays_of(queries, entities), first, best_arrays(best))

    def select_scores(self, scores: Float64Array, best: BestAnswers) -> None:
        run_loop(select_rows, len(scores), scores, 0, best_arrays(best))


def run_loop(loop: Callable[..., None], total: int, *arguments: Any, group: int = GROUP) -> None:
    """Run a compiled loop over ``total`` rows, ``group`` at a time in a thread; it takes the first row and the end."""
    parallel_for(lambda part: loop(part.start, part.stop, *arguments), total, group)


def _count(loop: Callable[..., None], intervals: Spans, *arguments: Any, group: int = GROUP) -> Counted:
    counted = Counted.zero(intervals)
    run_loop(loop, len(counted.undefined), *arguments, intervals, *counted, group=group)
    return counted


@njit(cache=True, nogil=True)
def _count_tiles(begin, end, arrays, intervals, counts, undefined):  # type: ignore[no-untyped-def]
    scores, total = np.empty(TILE), len(arrays.entities)
    for start in range(0, total, TILE):
        tile = np.arange(start, min(start + TILE, total))
        row = scores[: len(tile)]
        for query in range(begin, end):
            score(arrays, query, tile, row)
            _count_row(query, row, intervals, counts, undefined)


@njit(cache=True, nogil=True)
def _select_tiles(begin, end, arrays, first, best):  # type: ignore[no-untyped-def]
    total = len(arrays.entities)
    scores = np.empty((end - begin, total))
    for start in range(0, total, TILE):
        tile = np.arange(start, min(start + TILE, total))
        for query in range(begin, end):
            score(arrays, query, tile, scores[query - begin, start : start + TILE])
    for query in range(begin, end):
        select_row(query, scores[query - begin], first, best)


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
    undefined[query] += holes
    for answer in range(intervals.offsets[query], intervals.offsets[query + 1]):
        above, tied = above_and_inside(scores, intervals.lowest[answer], intervals.highest[answer])
        counts[answer, 0] += above
        counts[answer, 1] += tied


@njit(cache=True, nogil=True)
def _score_rows(begin, end, arrays, offsets, ids, out):  # type: ignore[no-untyped-def]
    for query in range(begin, end):
        entries = slice(offsets[query], offsets[query + 1])
        score(arrays, query, ids[entries], out[entries])


SIMILARITIES: tuple[Similarity, ...] = ("dot", "l1", "l2", "modulus", "squared_l2")
"""in the order of the codes that the compiled loops use; a cosine reaches them as the dot product of unit vectors"""

DOT, L1, L2, MODULUS, SQUARED_L2 = range(len(SIMILARITIES))


class Packed(NamedTuple):
    """Queries and entities as plain arrays, for the compiled loops."""

    similarity: int
    """the code of the similarity: its index in ``SIMILARITIES``"""
    queries: Float64Array
    """float64[query, dim], the vectors of the queries"""
    offsets: Float64Array
    """float64[query], the number that is added to all scores of a query"""
    entities: np.ndarray[Any, Any]
    """float[entity, dim], the vectors of the entities"""
    biases: Float64Array
    """float64[entity], the number that is added to each score of an entity"""


def arrays_of(queries: QueryVectors, entities: EntityVectors) -> Packed:
    """Take vectors as plain arrays; the vectors of entities are made contiguous."""
    code, vectors = SIMILARITIES.index(queries.similarity), np.ascontiguousarray(entities.vectors)
    return Packed(code, queries.vectors, queries.offsets, vectors, entities.biases)


@njit(cache=True)
def score(arrays, query, candidates, out):  # type: ignore[no-untyped-def]
    """Write to ``out`` (float64[candidate]) the canonical scores of a query and the entities in rows ``candidates``."""
    similarity, vector, offset = arrays.similarity, arrays.queries[query], arrays.offsets[query]
    entities, biases = arrays.entities, arrays.biases
    terms = np.empty(len(vector) // 2 if similarity == MODULUS else len(vector))
    # One loop for each similarity: a branch at every candidate costs as much as a sum.
    if similarity == DOT:
        for place in range(len(candidates)):
            _products(vector, entities[candidates[place]], terms)
            out[place] = sum_in_lanes(terms)
    elif similarity == L1:
        for place in range(len(candidates)):
            _differences(vector, entities[candidates[place]], terms)
            out[place] = -sum_in_lanes(terms)
    elif similarity == MODULUS:
        for place in range(len(candidates)):
            _moduli(vector, entities[candidates[place]], terms)
            out[place] = -sum_in_lanes(terms)
    else:
        for place in range(len(candidates)):
            _squares(vector, entities[candidates[place]], terms)
            total = sum_in_lanes(terms)
            out[place] = -np.sqrt(total) if similarity == L2 else -total
    for place in range(len(candidates)):
        out[place] = out[place] + biases[candidates[place]] + offset


@njit(cache=True)
def _products(query, entity, terms):  # type: ignore[no-untyped-def]
    for k in range(len(terms)):
        terms[k] = query[k] * np.float64(entity[k])


@njit(cache=True)
def _differences(query, entity, terms):  # type: ignore[no-untyped-def]
    for k in range(len(terms)):
        terms[k] = abs(query[k] - np.float64(entity[k]))


@njit(cache=True)
def _squares(query, entity, terms):  # type: ignore[no-untyped-def]
    for k in range(len(terms)):
        difference = query[k] - np.float64(entity[k])
        terms[k] = difference * difference


@njit(cache=True)
def _moduli(query, entity, terms):  # type: ignore[no-untyped-def]
    half = len(terms)
    for k in range(half):
        real = query[k] - np.float64(entity[k])
        imaginary = query[half + k] - np.float64(entity[half + k])
        terms[k] = np.sqrt(real * real + imaginary * imaginary)


@njit(cache=True)
def above_and_inside(scores, lowest, highest):  # type: ignore[no-untyped-def]
    """Count the scores above an interval, and those inside it."""
    above, inside = 0, 0
    for place in range(len(scores)):
        above += scores[place] > highest
        inside += (scores[place] >= lowest) & (scores[place] <= highest)
    return above, inside
