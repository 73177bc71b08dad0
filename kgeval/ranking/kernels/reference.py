"""The reference kernel: numpy, float64, nothing clever. What the others must equal, bit for bit."""

from __future__ import annotations

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.rows import Rows
from kgeval.ranking.kernels.collectors import (
    ALL,
    GREATER,
    KNOWN,
    RAW_GREATER,
    RAW_TIED,
    TIED,
    BestAnswers,
    CountAccumulator,
    Kernel,
)
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.scorers.similarity import canonical


class ReferenceKernel(Kernel):
    """Scores whole blocks with the canonical formulas, and counts one query after the other."""

    name = "reference"

    def pairs(self, queries: QueryVectors, entities: EntityVectors, offsets: IntArray) -> Float64Array:
        owners = np.repeat(np.arange(len(queries.vectors)), np.diff(offsets))
        vectors = np.asarray(entities.vectors, np.float64)
        similarities = canonical(queries.similarity, queries.vectors[owners], vectors)
        return similarities + entities.biases + queries.offsets[owners]

    def count_shared(
        self, queries: QueryVectors, entities: EntityVectors, first: int, accumulator: CountAccumulator
    ) -> None:
        exact = EntityVectors(np.asarray(entities.vectors, np.float64), entities.biases)
        for query in range(len(queries.vectors)):
            _count_row(query, _row(queries, query, exact), first, accumulator)

    def count_per_query(
        self, queries: QueryVectors, entities: EntityVectors, own: Rows, accumulator: CountAccumulator
    ) -> None:
        for query in range(len(queries.vectors)):
            _count_row(query, _row(queries, query, entities[own.row(query)]), 0, accumulator)

    def count_scores(self, scores: Float64Array, starts: IntArray, accumulator: CountAccumulator) -> None:
        for query, width in enumerate(accumulator.task.num_candidates):
            _count_row(query, scores[starts[query] : starts[query] + width], 0, accumulator)

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
    if last == before:  # those that were counted before and have a place would be counted twice
        tied = tied[tied >= first]
    else:
        best.tied[query] = 0
    best.tied[query, ALL] += len(tied)
    best.tied[query, KNOWN] += np.isin(tied, known).sum()


def _count_row(query: int, row: Float64Array, first: int, accumulator: CountAccumulator) -> None:
    known = accumulator.task.known.row(query) - first
    known = known[(known >= 0) & (known < len(row))]
    accumulator.undefined[query] |= np.isnan(row).any()
    for answer in range(*accumulator.task.queries.offsets[query : query + 2]):
        threshold, position = accumulator.thresholds[answer], accumulator.task.answers[answer] - first
        competes = np.arange(len(row)) != position
        unknown = competes.copy()
        unknown[known] = False
        accumulator.counts[answer, RAW_GREATER] += np.sum((row > threshold) & competes)
        accumulator.counts[answer, RAW_TIED] += np.sum((row == threshold) & competes)
        accumulator.counts[answer, GREATER] += np.sum((row > threshold) & unknown)
        accumulator.counts[answer, TIED] += np.sum((row == threshold) & unknown)
