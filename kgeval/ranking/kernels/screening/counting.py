"""Counting with a screen: how many candidates of a chunk are above each answer, and how many tie with it.

``ScreenedKernel`` calls ``ScreenedCounting`` for each chunk, and ``count_rows`` where each query has its own
candidates. The canonical score is the float64 score, summed in one fixed order, that decides a rank; an answer's
interval is the range of scores that tie with it. A candidate is compared with the interval in three steps, each only
for what the one before leaves uncertain: by a screen (an approximate score in low precision with a proven error:
``screens``), by a refined score (in higher precision, in any order of summation, with the bound below), canonically.
Counting comes first in this file; refined scores, from ``Pairs`` on, are used by ``selection`` too.

A refined score is summed in a higher precision than the screen's: in float64 after a screen in float32, else in the
precision of the entities.

Bound on the error of refined scores
------------------------------------
Their sums are taken in whatever order is fastest. For terms that are rounded and added with unit roundoff u
(Higham, 2002, chapter 3), and for a query q̂ that was itself rounded to that precision, with γ = γ(2d + 64):

dot                    |q·e − fl(q̂·e)| ≤ (‖q − q̂‖ + γ‖q̂‖) ‖e‖,        γ(n) = n u / (1 − n u)
l1, l2, modulus        |distance − fl(distance)| ≤ ‖q − q̂‖ + γ fl(distance)
squared_l2             |d² − fl(d²)| ≤ ‖q − q̂‖ (2d̂ + ‖q − q̂‖) + γ fl(d²),   d̂ ≤ (1 + γ) √fl(d²)

The canonical score's own rounding, in float64, is added.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kgeval.base.arrays import Float64Array
from kgeval.base.compiling import njit
from kgeval.ranking.kernels.collectors import Counted, Spans
from kgeval.ranking.kernels.compiled import DOT, L1, L2, MODULUS, SQUARED_L2, Packed, above_and_inside, arrays_of, score
from kgeval.ranking.kernels.rounding import U32, U64, growth
from kgeval.ranking.kernels.screening.screens import BOUND_GROUP, SMALLEST, Screen
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors

REFINED, CANONICAL = range(2)
"""the columns of the effort: comparisons by a refined score, and by a canonical one"""

FREE = {"reassoc", "contract", "nsz"}
"""what the compiler may do to a sum: take it in any order, and fuse multiplications with additions"""


class ScreenedCounting:
    """The counting of one chunk of candidates, by one screen."""

    def __init__(
        self, screen: Screen, queries: QueryVectors, entities: EntityVectors, intervals: Spans, counted: Counted
    ) -> None:
        self._screen, self._intervals, self._counts = screen, intervals, counted.counts
        self._limits = screen.limits(intervals.lowest, intervals.highest, intervals.owners)
        self._pairs = pairs_of(queries, entities, in_float64=screen.refined_in_float64)
        self.effort = np.zeros((len(queries.vectors), 2), np.int64)
        """int64[query, 2], how many comparisons took a refined score, and how many a canonical one"""

    def count(self, part: slice, block: int, clock: Callable[[], float] = time.perf_counter) -> float:
        """Count for some queries, a block at a time; return the seconds of the quickest block."""
        buffer, order = self._screen.buffer(min(block, part.stop - part.start)), self._screen.order
        quickest = np.inf
        for first in range(part.start, part.stop, block):
            start = clock()
            statistics = self._screen.statistics(slice(first, min(first + block, part.stop)), buffer)
            results = self._counts, self.effort
            count_screened(first, statistics, order, self._limits, self._pairs, self._intervals, *results)
            quickest = min(quickest, clock() - start)
        return quickest


@njit(cache=True, nogil=True)
def count_screened(start, statistics, order, limits, pairs, intervals, counts, effort):  # type: ignore[no-untyped-def]
    """Count candidates by the screen's statistics (its scores), [query, column], of the queries from ``start`` on."""
    width = len(order)
    uncertain, flags = np.empty(width + 1, np.int64), np.empty(BOUND_GROUP, np.uint8)
    bounds = np.empty(width), np.empty(width)
    for row in range(len(statistics)):
        query = start + row
        for answer in range(intervals.offsets[query], intervals.offsets[query + 1]):
            above, left = split_columns(statistics[row], limits.upper[answer], limits.lower[answer], flags, uncertain)
            candidates = order[uncertain[:left]]
            score_bounds(pairs, query, candidates, *bounds)
            effort[query, REFINED] += left
            effort[query, CANONICAL] += _count_bounded(pairs, query, candidates, bounds, intervals, answer, counts)
            counts[answer, 0] += above


@njit(cache=True, nogil=True)
def count_rows(start, stop, lists, pairs, intervals, counts, effort):  # type: ignore[no-untyped-def]
    """Count the candidates of the queries from ``start`` to before ``stop``, each its own row of entities."""
    offsets, entities = lists
    for query in range(start, stop):
        candidates = entities[offsets[query] : offsets[query + 1]]
        bounds = np.empty(len(candidates)), np.empty(len(candidates))
        score_bounds(pairs, query, candidates, *bounds)
        for answer in range(intervals.offsets[query], intervals.offsets[query + 1]):
            effort[query, REFINED] += len(candidates)
            effort[query, CANONICAL] += _count_bounded(pairs, query, candidates, bounds, intervals, answer, counts)


@njit(cache=True)
def _count_bounded(pairs, query, candidates, bounds, intervals, answer, counts):  # type: ignore[no-untyped-def]
    """Count candidates above an answer's interval, and inside it; return how many took a canonical score."""
    lowest, highest, above, near = intervals.lowest[answer], intervals.highest[answer], 0, 0
    lows, highs = bounds
    for place in range(len(candidates)):
        above += lows[place] > highest
        near += (lows[place] <= highest) & (highs[place] >= lowest)
    counts[answer, 0] += above
    if near == 0:
        return 0
    undecided, num_undecided, inside = np.empty(near + 1, np.int64), 0, 0
    for place in range(len(candidates)):
        low, high = lows[place], highs[place]
        is_inside = (low >= lowest) & (high <= highest)
        inside += is_inside
        undecided[num_undecided] = candidates[place]
        num_undecided += (low <= highest) & (high >= lowest) & (not is_inside)
    further = above_and_inside(canonical_scores(pairs, query, undecided[:num_undecided]), lowest, highest)
    counts[answer, 0] += further[0]
    counts[answer, 1] += inside + further[1]
    return num_undecided


@njit(cache=True)
def split_columns(statistics, upper, lower, flags, uncertain):  # type: ignore[no-untyped-def]
    """Count the columns that are certainly above, and collect those that are uncertain; return both numbers."""
    above, left = 0, 0
    for group in range(len(upper)):
        columns = statistics[group * BOUND_GROUP : (group + 1) * BOUND_GROUP]
        certain, conceivable = _count_conceivable(columns, upper[group], lower[group])
        above += certain
        if conceivable > certain:
            _flag(columns, upper[group], lower[group], flags)
            left = _collect(flags, group * BOUND_GROUP, uncertain, left)
    return above, left


@njit(cache=True)
def _count_conceivable(statistics, above, possible):  # type: ignore[no-untyped-def]
    """Count the columns certainly above and those conceivably above; in 16 bits, so that a CPU adds many at once."""
    certain, conceivable = np.int16(0), np.int16(0)
    for column in range(len(statistics)):
        certain = np.int16(certain + np.int16(statistics[column] > above))
        conceivable = np.int16(conceivable + np.int16(statistics[column] >= possible))
    return certain, conceivable


@njit(cache=True)
def _flag(statistics, above, possible, flags):  # type: ignore[no-untyped-def]
    for column in range(len(statistics)):
        flags[column] = (statistics[column] >= possible) & (statistics[column] <= above)
    flags[len(statistics) :] = 0


@njit(cache=True)
def _collect(flags, first, uncertain, count):  # type: ignore[no-untyped-def]
    """Append the marked columns to ``uncertain``; skip eight unmarked ones at a time, without a branch for each."""
    words = flags.view(np.uint64)
    for word in range(len(words)):
        if words[word]:
            for column in range(8 * word, 8 * word + 8):
                uncertain[count] = first + column
                count += flags[column]
    return count


class Pairs(NamedTuple):
    """Queries and entities for the compiled loops, and the numbers that bound the error of their refined scores."""

    arrays: Packed
    rounded: np.ndarray[Any, Any]
    """[query, dim or more], the query vectors in the precision of the refined scores"""
    rounding_error_per_unit: Float64Array
    """float64[query], the error per unit of an entity's size"""
    sizes: Float64Array
    """float64[entity], the sizes: norms for products, ones for distances (``score_bounds`` sizes their squares
    itself)"""
    growth: float
    """the error per unit of the score"""
    floor: float
    """the constant part of the error"""


def pairs_of(queries: QueryVectors, entities: EntityVectors, *, in_float64: bool = False) -> Pairs:
    """Prepare refined scores, in the precision of the entities or in float64."""
    dim = queries.vectors.shape[1]
    single = entities.vectors.dtype == np.float32 and not in_float64
    rounded = queries.float32.vectors if single else queries.vectors
    errors = queries.float32.rounding_errors if single else np.zeros(len(queries.vectors))
    lost = growth(2 * dim + 64, U32 if single else U64) + growth(2 * dim + 64, U64)
    if queries.similarity == "dot":
        error, sizes, lost = errors + lost * (queries.norms + errors), entities.norms, 0.0
    else:
        error, sizes = errors, np.ones(len(entities.biases))
    return Pairs(arrays_of(queries, entities), rounded, error * (1 + 2.0**-20), sizes, lost, SMALLEST * dim)


@njit(cache=True)
def score_bounds(pairs, query, candidates, lows, highs):  # type: ignore[no-untyped-def]
    """For each candidate, find a lower and an upper bound of its canonical score."""
    arrays, sizes, error = pairs.arrays, pairs.sizes, pairs.rounding_error_per_unit[query]
    _similarities(arrays.similarity, pairs.rounded[query], arrays.entities, candidates, lows)
    biases, offset, lost, floor = arrays.biases, arrays.offsets[query], pairs.growth, pairs.floor
    for place in range(len(candidates)):
        similarity, bias = lows[place], biases[candidates[place]]
        size = sizes[candidates[place]]
        if arrays.similarity == SQUARED_L2:
            size = 2 * (1 + lost) * np.sqrt(abs(similarity)) + error
        slack = error * size + lost * abs(similarity) + floor
        slack += 2.0**-48 * (abs(similarity) + abs(bias) + abs(offset))
        lows[place] = similarity + bias + offset - slack
        highs[place] = similarity + bias + offset + slack


@njit(cache=True)
def _similarities(similarity, vector, entities, candidates, out):  # type: ignore[no-untyped-def]
    for place in range(len(candidates)):
        entity = entities[candidates[place]]
        if similarity == DOT:
            out[place] = _dot(vector, entity)
        elif similarity == L1:
            out[place] = -_l1(vector, entity)
        elif similarity == MODULUS:
            out[place] = -_moduli(vector, entity)
        else:
            squares = np.float64(_squares(vector, entity))
            out[place] = -np.sqrt(squares) if similarity == L2 else -squares


@njit(cache=True, fastmath=FREE)
def _dot(query, entity):  # type: ignore[no-untyped-def]
    total = query.dtype.type(0)
    for k in range(len(entity)):
        total += query[k] * entity[k]
    return total


@njit(cache=True, fastmath=FREE)
def _l1(query, entity):  # type: ignore[no-untyped-def]
    total = query.dtype.type(0)
    for k in range(len(entity)):
        total += abs(query[k] - entity[k])
    return total


@njit(cache=True, fastmath=FREE)
def _squares(query, entity):  # type: ignore[no-untyped-def]
    total = query.dtype.type(0)
    for k in range(len(entity)):
        difference = query[k] - entity[k]
        total += difference * difference
    return total


@njit(cache=True, fastmath=FREE)
def _moduli(query, entity):  # type: ignore[no-untyped-def]
    total = query.dtype.type(0)
    half = len(entity) // 2
    for k in range(half):
        real, imaginary = query[k] - entity[k], query[half + k] - entity[half + k]
        total += np.sqrt(real * real + imaginary * imaginary)
    return total


@njit(cache=True)
def canonical_scores(pairs, query, candidates):  # type: ignore[no-untyped-def]
    """Score candidates of a query canonically; float64[candidate]."""
    scores = np.empty(len(candidates))
    score(pairs.arrays, query, candidates, scores)
    return scores
