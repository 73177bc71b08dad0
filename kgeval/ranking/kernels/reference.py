"""The reference kernel: numpy, float64, nothing clever. What other kernels count must equal its counts, bit for bit.

``Kernel`` in ``collectors.py`` says what each method does; collectors call them. ``intervals`` are tie intervals: each
holds the scores that tie with an answer. Small evaluations are ranked here too: numba is not worth loading for them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.data.queries import Rows
from kgeval.models.similarity import canonical
from kgeval.ranking.kernels.collectors import ALL, KNOWN, BestAnswers, Counted, Kernel, Spans
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors


class ReferenceKernel(Kernel):
    """The kernel that scores by the canonical formulas as they are written, and counts one query after the other."""

    name = "reference"

    def scores(self, queries: QueryVectors, entities: EntityVectors, lists: Rows) -> Float64Array:
        rows = (_row(queries, query, entities[lists.row(query)]) for query in range(len(queries.vectors)))
        return np.concatenate([np.empty(0), *rows])

    def count(self, queries: QueryVectors, entities: EntityVectors, intervals: Spans) -> Counted:
        exact = EntityVectors(np.asarray(entities.vectors, np.float64), entities.biases)
        return _count(intervals, lambda query: _row(queries, query, exact))

    def count_own(self, queries: QueryVectors, entities: EntityVectors, lists: Rows, intervals: Spans) -> Counted:
        return _count(intervals, lambda query: _row(queries, query, entities[lists.row(query)]))

    def count_scores(self, scores: Float64Array, starts: IntArray, lengths: IntArray, intervals: Spans) -> Counted:
        return _count(intervals, lambda query: scores[starts[query] : starts[query] + lengths[query]])

    def select_shared(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        exact = EntityVectors(np.asarray(entities.vectors, np.float64), entities.biases)
        for query in range(len(queries.vectors)):
            _select_row(query, _row(queries, query, exact), first, best)

    def select_scores(self, scores: Float64Array, best: BestAnswers) -> None:
        for query, row in enumerate(scores):
            _select_row(query, row, 0, best)


def _row(queries: QueryVectors, query: int, entities: EntityVectors) -> Float64Array:
    """Score all entities for one query; float64[entity]."""
    similarities = canonical(queries.similarity, queries.vectors[query], np.asarray(entities.vectors, np.float64))
    return np.asarray(similarities + entities.biases + queries.offsets[query])


def _select_row(query: int, row: Float64Array, first: int, best: BestAnswers) -> None:
    known, before = best.known.row(query), best.scores[query, -1]
    positions = first + np.arange(len(row))
    competes = row > -np.inf
    if best.drops_known:
        competes &= ~np.isin(positions, known)
    best.undefined[query] |= np.isnan(row).any() and not best.nan_last
    scores = np.concatenate([best.scores[query], row[competes]])
    positions = np.concatenate([best.positions[query], positions[competes]])
    order = np.lexsort((positions, -scores))[: best.scores.shape[1]]
    best.scores[query], best.positions[query] = scores[order], positions[order]
    last = best.scores[query, -1]
    tied = positions[(scores == last) & (last > -np.inf)]
    if last == before:  # ties among the earlier best were counted before
        tied = tied[tied >= first]
    else:
        best.tied[query] = 0
    best.tied[query, ALL] += len(tied)
    best.tied[query, KNOWN] += np.isin(tied, known).sum()


def _count(intervals: Spans, row_of: Callable[[int], Float64Array]) -> Counted:
    """Count each query's scores, float64[candidate], above and inside the intervals of its answers."""
    counted = Counted.zero(intervals)
    for query in range(len(counted.undefined)):
        row = row_of(query)
        counted.undefined[query] = np.isnan(row).sum()
        for answer in range(*intervals.offsets[query : query + 2]):
            lowest, highest = intervals.lowest[answer], intervals.highest[answer]
            counted.counts[answer] = (row > highest).sum(), ((row >= lowest) & (row <= highest)).sum()
    return counted
