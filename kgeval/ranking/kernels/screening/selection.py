"""Selection with a screen: which candidates of a chunk may be among a query's best, with canonical scores for those.

``ScreenedKernel.select_shared`` calls ``ScreenedSelection`` for each chunk, to keep the best k candidates of each
query, one for each of k places. The screen, an approximate score with a proven error, picks at least k candidates that
look best. Their refined scores (in higher precision) give lower bounds; the k-th largest of these, and of the best so
far, is a threshold that k candidates or more reach. Candidates that cannot reach it are discarded; the rest, a few for
each place, are scored canonically (in float64, in one fixed order).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kgeval.base.arrays import IntArray
from kgeval.base.compiling import njit
from kgeval.ranking.kernels.best_selection import best_arrays, bound_of_best, known_within, merge
from kgeval.ranking.kernels.collectors import BestAnswers
from kgeval.ranking.kernels.screening.counting import (
    CANONICAL,
    REFINED,
    canonical_scores,
    pairs_of,
    score_bounds,
    split_columns,
)
from kgeval.ranking.kernels.screening.screens import BOUND_GROUP, Screen
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors


class ScreenedSelection:
    """The selection from one chunk of candidates, merged into the best so far."""

    def __init__(
        self, screen: Screen, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers
    ) -> None:
        self._screen, self._columns = screen, _columns_of(screen, first)
        self._pairs = pairs_of(queries, entities, in_float64=screen.refined_in_float64)
        self._best = best_arrays(best)
        self.effort = np.zeros((len(queries.vectors), 2), np.int64)
        """int64[query, 2], how many candidates took a refined score, and how many a canonical one"""

    def select(self, part: slice, block: int) -> None:
        """Merge the chunk's candidates into the best of some queries, a block at a time."""
        buffer = self._screen.buffer(min(block, part.stop - part.start))
        for start in range(part.start, part.stop, block):
            self._select_block(slice(start, min(start + block, part.stop)), buffer)

    def _select_block(self, block: slice, buffer: np.ndarray[Any, Any]) -> None:
        statistics, columns = self._screen.statistics(block, buffer), self._columns
        if self._best.drops_known:
            _mark_known(block.start, statistics, columns, self._best)
        thresholds = np.empty(len(statistics))
        _find_thresholds(block.start, statistics, columns, self._pairs, self._best, thresholds)
        enough = thresholds > -np.inf
        least = np.where(enough, thresholds, 0.0)
        lower = self._screen.limits(least, least, np.arange(block.start, block.stop)).lower
        lower[~enough] = columns.least
        _select(block.start, statistics, columns, lower, self._pairs, thresholds, self._best, self.effort)


class ChunkColumns(NamedTuple):
    """The columns of a chunk's statistics (the screen's scores): their candidates, and numbers below and above them."""

    first: int
    """the position of the chunk's first candidate"""
    order: IntArray
    """int64[column], the candidate of the chunk in each column"""
    places: IntArray
    """int64[candidate], the column of each candidate"""
    lowest: Any
    """below all statistics: it marks a column that is left out"""
    least: Any
    """the least number above ``lowest``"""
    highest: np.ndarray[Any, Any]
    """[group], above all statistics"""


def _columns_of(screen: Screen, first: int) -> ChunkColumns:
    places = np.empty_like(screen.order)
    places[screen.order] = np.arange(len(places))
    kind = screen.buffer(0).dtype
    groups = -(-len(places) // BOUND_GROUP)
    if kind.kind == "f":
        lowest, least, highest = kind.type(-np.inf), np.finfo(kind).min, kind.type(np.inf)
    else:
        lowest, least, highest = kind.type(np.iinfo(kind).min), kind.type(np.iinfo(kind).min + 1), np.iinfo(kind).max
    return ChunkColumns(first, screen.order, places, lowest, least, np.full(groups, highest, kind))


@njit(cache=True, nogil=True)
def _mark_known(start, statistics, columns, best):  # type: ignore[no-untyped-def]
    end = columns.first + len(columns.order)
    for row in range(len(statistics)):
        for position in known_within(start + row, columns.first, end, best):
            statistics[row, columns.places[position - columns.first]] = columns.lowest


@njit(cache=True, nogil=True)
def _find_thresholds(start, statistics, columns, pairs, best, thresholds):  # type: ignore[no-untyped-def]
    """For each query, find a threshold: a score that at least k candidates reach; −∞ if there are fewer than k."""
    width, places = len(columns.order), best.scores.shape[1]
    uncertain, flags = np.empty(width + 1, np.int64), np.empty(BOUND_GROUP, np.uint8)
    lows, highs, lower = np.empty(width), np.empty(width), columns.highest.copy()
    for row in range(len(statistics)):
        lower[:] = max(columns.least, bound_of_best(statistics[row], places))
        _, count = split_columns(statistics[row], columns.highest, lower, flags, uncertain)
        score_bounds(pairs, start + row, columns.order[uncertain[:count]], lows, highs)
        bounds = np.concatenate((lows[:count], best.scores[start + row]))
        thresholds[row] = np.partition(bounds, count)[count]


@njit(cache=True, nogil=True)
def _select(start, statistics, columns, lower, pairs, thresholds, best, effort):  # type: ignore[no-untyped-def]
    """Score the candidates canonically that may reach the thresholds, and merge them into the best."""
    width = len(columns.order)
    uncertain, flags = np.empty(width + 1, np.int64), np.empty(BOUND_GROUP, np.uint8)
    lows, highs = np.empty(width), np.empty(width)
    for row in range(len(statistics)):
        query = start + row
        _, count = split_columns(statistics[row], columns.highest, lower[row], flags, uncertain)
        candidates = columns.order[uncertain[:count]]
        score_bounds(pairs, query, candidates, lows, highs)
        reaching = np.sort(candidates[highs[:count] >= thresholds[row]])
        merge(query, canonical_scores(pairs, query, reaching), reaching + columns.first, best)
        effort[query, REFINED] += count
        effort[query, CANONICAL] += len(reaching)
