"""Counting: which candidates are above each answer or tie with it, when their scores are known only within limits.

An answer's candidates are settled in three steps: by the screen, by refined scores, canonically. Refined scores are
summed in a higher precision than the screen's: in float64 after a screen in float32, else in the precision of the
entities.

Their sums are taken in whatever order is fastest. For terms that are rounded and added with unit roundoff u
(Higham, 2002, chapter 3), and for a query q̂ that was itself rounded to that precision, with γ = γ(2d + 64):

dot                    |q·e − fl(q̂·e)| ≤ (‖q − q̂‖ + γ‖q̂‖) ‖e‖,        γ(n) = n u / (1 − n u)
l1, l2, modulus        |distance − fl(distance)| ≤ ‖q − q̂‖ + γ fl(distance)
squared_l2             |d² − fl(d²)| ≤ ‖q − q̂‖ (2d̂ + ‖q − q̂‖) + γ fl(d²),   d̂ ≤ (1 + γ) √fl(d²)

The canonical score's own rounding, in float64, is added.

What numba keeps of these loops on disk holds those of other files that they call: where those change, it must go.

Screened selection: which candidates of a chunk may be among the best, when their scores are known within limits.

The screen finds k candidates with high lower bounds. The smallest of these bounds is a threshold: k candidates or
more reach it. Candidates that cannot reach it are discarded; the rest, a few for each place, are scored canonically.

What numba keeps of these loops on disk holds those of ``counting`` and ``best_selection`` that they
call: where those change, it must go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.compiling import njit
from kgeval.ranking.kernels.best_selection import best_arrays, bound_of_best, known_within, merge
from kgeval.ranking.kernels.collectors import BestAnswers
from kgeval.ranking.kernels.compiled import DOT, L1, L2, MODULUS, SQUARED_L2, Arrays, arrays_of, compare, score
from kgeval.ranking.kernels.rounding import U32, U64, growth
from kgeval.ranking.kernels.screening.screens import BOUND_GROUP, SMALLEST, Screen
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors

FREE = {"reassoc", "contract", "nsz"}
"""what the compiler may do to a sum: take it in any order, and fuse multiplications with additions"""


class Pairs(NamedTuple):
    """Queries and entities for the compiled loops."""

    arrays: Arrays
    rounded: np.ndarray[Any, Any]
    """[query, dim or more], in the precision of the refined scores"""
    rounding_error_per_unit: Float64Array
    """float64[query], the error per unit of an entity's size"""
    sizes: Float64Array
    """float64[entity], the norms where products are taken; ones where distances are, whose squares have sizes apart"""
    growth: float
    """the error per unit of the score"""
    floor: float
    """the error beside those"""


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


@njit(cache=True)
def exact(pairs, query, candidates):  # type: ignore[no-untyped-def]
    scores = np.empty(len(candidates))
    score(pairs.arrays, query, candidates, scores)
    return scores


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


REFINED, CANONICAL = range(2)
"""the columns of the effort: comparisons by a refined score, and by a canonical one"""


class Columns(NamedTuple):
    """The candidates in the order of their columns, and the limits of each answer and group of them."""

    order: IntArray
    upper: np.ndarray[Any, Any]
    lower: np.ndarray[Any, Any]


@njit(cache=True, nogil=True)
def count_screened(start, statistics, columns, pairs, intervals, counts, effort):  # type: ignore[no-untyped-def]
    """Count candidates whose statistics are those of the queries from ``start`` on."""
    width = len(columns.order)
    uncertain, flags = np.empty(width + 1, np.int64), np.empty(BOUND_GROUP, np.uint8)
    lows, highs = np.empty(width), np.empty(width)
    for row in range(len(statistics)):
        query = start + row
        for answer in range(intervals.offsets[query], intervals.offsets[query + 1]):
            above, left = split(statistics[row], columns.upper[answer], columns.lower[answer], flags, uncertain)
            candidates = columns.order[uncertain[:left]]
            score_bounds(pairs, query, candidates, lows, highs)
            effort[query, REFINED] += left
            effort[query, CANONICAL] += _count_bounded(
                pairs, query, candidates, (lows, highs), intervals, answer, counts
            )
            counts[answer, 0] += above


@njit(cache=True, nogil=True)
def count_rows(start, stop, lists, pairs, intervals, counts, effort):  # type: ignore[no-untyped-def]
    """Count the candidates of the queries from ``start`` to before ``stop``, each its own row of entities."""
    offsets, entities = lists
    for query in range(start, stop):
        candidates = entities[offsets[query] : offsets[query + 1]]
        lows, highs = np.empty(len(candidates)), np.empty(len(candidates))
        score_bounds(pairs, query, candidates, lows, highs)
        for answer in range(intervals.offsets[query], intervals.offsets[query + 1]):
            effort[query, REFINED] += len(candidates)
            effort[query, CANONICAL] += _count_bounded(
                pairs, query, candidates, (lows, highs), intervals, answer, counts
            )


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
    further = compare(exact(pairs, query, undecided[:num_undecided]), lowest, highest)
    counts[answer, 0] += further[0]
    counts[answer, 1] += inside + further[1]
    return num_undecided


@njit(cache=True)
def split(statistics, upper, lower, flags, uncertain):  # type: ignore[no-untyped-def]
    """Count the columns that are certainly above, and collect those that are uncertain; return both numbers."""
    above, left = 0, 0
    for group in range(len(upper)):
        columns = statistics[group * BOUND_GROUP : (group + 1) * BOUND_GROUP]
        certain, conceivable = _compare(columns, upper[group], lower[group])
        above += certain
        if conceivable > certain:
            _flag(columns, upper[group], lower[group], flags)
            left = _collect(flags, group * BOUND_GROUP, uncertain, left)
    return above, left


@njit(cache=True)
def _compare(statistics, above, possible):  # type: ignore[no-untyped-def]
    """Count what is certainly and what is conceivably above; in 16 bits, so that a processor adds many at once."""
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
    """Append the marked columns: eight at a time are passed over, and no branch asks for one alone."""
    words = flags.view(np.uint64)
    for word in range(len(words)):
        if words[word]:
            for column in range(8 * word, 8 * word + 8):
                uncertain[count] = first + column
                count += flags[column]
    return count


class ChunkColumns(NamedTuple):
    """The columns of a chunk's statistics: whose they are, and the numbers that bound them."""

    first: int
    """the position of the chunk's first candidate"""
    order: IntArray
    """int64[column], the candidate of the chunk in each column"""
    places: IntArray
    """int64[candidate], the column of each"""
    lowest: Any
    """below all statistics: it marks a column that is left out"""
    least: Any
    """the least number above that"""
    highest: np.ndarray[Any, Any]
    """[group], above all statistics"""


class ScreenedSelection:
    """Selects the best of a chunk, block by block."""

    def __init__(
        self, screen: Screen, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers
    ) -> None:
        self._screen, self._columns = screen, _columns(screen, first)
        self._pairs: Pairs = pairs_of(queries, entities, in_float64=screen.refined_in_float64)
        self._best = best_arrays(best)
        self.effort = np.zeros((len(queries.vectors), 2), np.int64)
        """int64[query, 2], how many candidates were scored in the precision of the entities, and canonically"""

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


def _columns(screen: Screen, first: int) -> ChunkColumns:
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
    """For each query, find a score that as many candidates as there are places reach; −∞ where there are too few."""
    width, places = len(columns.order), best.scores.shape[1]
    uncertain, flags = np.empty(width + 1, np.int64), np.empty(BOUND_GROUP, np.uint8)
    lows, highs, lower = np.empty(width), np.empty(width), columns.highest.copy()
    for row in range(len(statistics)):
        lower[:] = max(columns.least, bound_of_best(statistics[row], places))
        _, count = split(statistics[row], columns.highest, lower, flags, uncertain)
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
        _, count = split(statistics[row], columns.highest, lower[row], flags, uncertain)
        candidates = columns.order[uncertain[:count]]
        score_bounds(pairs, query, candidates, lows, highs)
        reaching = np.sort(candidates[highs[:count] >= thresholds[row]])
        merge(query, exact(pairs, query, reaching), reaching + columns.first, best)
        effort[query, REFINED] += count
        effort[query, CANONICAL] += len(reaching)
