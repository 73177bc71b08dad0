"""Ranked lists: where the relevant items of each list stand, which is all that the metrics of lists read.

``answer_lists`` makes them of the ranks of a table, a list for each query; ``ranked`` makes one of plain arrays.
``list_metric`` declares a metric that is a mean over lists; ``gain.py`` and ``retrieval.py`` have the metrics.

An item that ties with others may stand at any place of its tied block; every metric is averaged over the orders exactly
(McSherry and Najork, 2008).

A filtered rank leaves the other known answers out. If the filter has the evaluated split, the place of an answer in the
list of all answers is its filtered rank plus the number of the query's other answers above it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import MetricError
from kgeval.data.queries import starts_of_runs
from kgeval.metrics.array_inputs import Row, floats, optional_cutoff, order_preserving_float64, relevances
from kgeval.metrics.averages import means_of_groups
from kgeval.metrics.metric import Metric, Undefined, declared
from kgeval.metrics.ranks.ranks import Ranks

MOST_RELEVANT = 10**8
"""the largest number of relevant items of one list"""


@dataclass(frozen=True, eq=False)
class RankedLists:
    """The relevant items of several lists, list after list, each from its top. Other items are only counted.

    >>> lists = ranked([0, 1, 1, 0], scores=[0.9, 0.5, 0.5, 0.5])
    >>> lists.num_above, lists.tie_block_size, lists.probability_in_top_k(2)
    (array([1, 1]), array([3, 3]), array([0.33333333, 0.33333333]))
    """

    offsets: IntArray
    """int64[list + 1], where the items of each list begin, and where the last list ends"""
    num_above: IntArray
    """int64[item], how many items of the same list, relevant or not, score strictly above it"""
    tie_block_size: IntArray
    """int64[item], how many items of the same list have its score, itself included"""
    grades: Float64Array
    """float64[item], how relevant it is, above 0"""
    lengths: IntArray
    """int64[list], the number of items, relevant or not"""
    weights: Float64Array | None = None
    """float64[list], how much each list counts; all the same by default"""
    retrieved: BoolArray | None = None
    """bool[item], whether it was retrieved; an item that was not is at no place. By default all were"""

    def at(self, chosen: IntArray) -> RankedLists:
        """Return some lists (int64[chosen]), any of them as often as it is chosen.

        >>> ranked_lists(np.array([0, 1, 1]), np.ones(3), np.array([1.0, 2.0, 3.0])).at(np.array([1, 1, 0])).offsets
        array([0, 2, 4, 5])
        """
        sizes = self.relevant[chosen]
        offsets = np.r_[0, np.cumsum(sizes)]
        items = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][chosen] - offsets[:-1], sizes)
        above, level, grades = (column[items] for column in (self.num_above, self.tie_block_size, self.grades))
        weights = None if self.weights is None else self.weights[chosen]
        retrieved = None if self.retrieved is None else self.retrieved[items]
        return RankedLists(offsets, above, level, grades, self.lengths[chosen], weights, retrieved)

    @property
    def relevant(self) -> IntArray:
        """How many items are relevant; int64[list]."""
        return np.diff(self.offsets)

    @cached_property
    def list_ids(self) -> IntArray:
        """The list that each item belongs to; int64[item]."""
        return np.repeat(np.arange(len(self.lengths)), self.relevant)

    @cached_property
    def blocks(self) -> tuple[IntArray, IntArray]:
        """How many relevant items of its list score strictly above each item, and how many have the same score.

        int64[item] each; the second count includes the item itself.
        """
        first = starts_of_runs(self.list_ids, self.num_above)
        sizes = np.diff(np.r_[first, len(self.num_above)])
        return np.repeat(first - self.offsets[self.list_ids[first]], sizes), np.repeat(sizes, sizes)

    def places(self, k: int | IntArray | None) -> IntArray:
        """How many of the places that each item may take are among the first ``k`` (of its list); int64[item]."""
        places = self.tie_block_size if k is None else np.clip(k - self.num_above, 0, self.tie_block_size)
        return places if self.retrieved is None else places * self.retrieved

    def probability_in_top_k(self, k: int | IntArray | None) -> Float64Array:
        """The probability that each item is among the first ``k`` (of its list); float64[item]."""
        return np.asarray(self.places(k) / self.tie_block_size, np.float64)

    def sums(self, values: Float64Array) -> Float64Array:
        """Sum a value of the items over each list; float64[list]."""
        return np.asarray(np.bincount(self.list_ids, values, minlength=len(self.lengths)), np.float64)

    def ideal(self) -> RankedLists:
        """The best order: the relevant items first, by grade."""
        grades = self.grades[np.lexsort((-self.grades, self.list_ids))]
        num_above = np.arange(len(grades)) - self.offsets[self.list_ids]
        ones = np.ones_like(num_above)
        return replace(self, num_above=num_above, tie_block_size=ones, grades=grades, retrieved=None)

    def mean(self, values: Float64Array) -> float:
        """The weighted mean of a value of each list (float64[list]), without lists where it is undefined (NaN)."""
        mean = float(self.means(values, np.zeros(1, np.int64))[0]) if len(values) else np.nan
        if np.isnan(mean):
            raise Undefined("there are no lists for which it is defined" if len(values) else "there are no lists")
        return mean

    def means(self, values: Float64Array, starts: IntArray) -> Float64Array:
        """The weighted mean in each group of lists; float64[group], NaN where undefined.

        ``values`` are float64[list]; ``starts`` are the first lists of the groups, int64[group].
        """
        weights = np.ones(len(values)) if self.weights is None else self.weights
        defined = ~np.isnan(values)
        return means_of_groups(np.where(defined, values, 0), starts, np.where(defined, weights, 0))


def answer_lists(
    queries: IntArray, scores: Float64Array, ranks: Ranks, retrieved: BoolArray | None = None
) -> RankedLists:
    """Put the answers of each query into one list, where all answers are equally relevant.

    ``queries`` (int64[row]) and ``scores`` (float64[row]) belong to the answers, equal scores tie, and ``ranks`` are
    filtered; ``retrieved`` (bool[row]) says which answers have a place. An example: of two answers with the filtered
    ranks 1 and 2, the second stands third.

    >>> ranks = Ranks(np.array([1, 0]), np.array([0, 0]), np.array([9, 9]))
    >>> lists = answer_lists(np.array([4, 4]), np.array([0.5, 0.8]), ranks)
    >>> lists.num_above, lists.lengths
    (array([0, 2]), array([10]))
    """
    if np.isnan(scores).any():
        raise Undefined("the score of an answer is NaN, so it has no place in the list")
    order, offsets, answers_above, answers_tied = places_of(queries, scores)
    greater, tied, candidates = ranks.greater[order], ranks.tied[order], ranks.candidates[order]
    _refuse_different(np.diff(queries[order]) == 0, np.diff(answers_above) == 0, greater, tied, candidates)
    lengths = candidates[offsets[:-1]] - 1 + np.diff(offsets)
    places = greater + answers_above, tied + answers_tied
    found = None if retrieved is None else retrieved[order]
    return RankedLists(offsets, *places, np.ones(len(order)), lengths, retrieved=found)


def ranked(
    relevance: Row, scores: Row | None = None, *, ideal: Row | None = None, relevant: int | None = None
) -> RankedLists:
    """Make one list of the relevance of its items, in the order of their scores or, without scores, as it is.

    If the list was cut off, ``ideal`` has the grades of all relevant items, or ``relevant`` is their number: the
    relevant items that the list lacks are at no place.

    >>> lists = ranked([2, 0, 1], ideal=[3, 2, 1])
    >>> lists.grades, lists.retrieved, lists.lengths
    (array([2., 1., 3.]), array([ True,  True, False]), array([3]))
    """
    if isinstance(scores, int | np.integer) and not isinstance(scores, bool):
        raise MetricError(f"scores: expected one row of numbers, found {scores}. Is it the cut-off? Write k={scores}.")
    grades = relevances(relevance, "relevance")
    keys = -np.arange(float(len(grades))) if scores is None else order_preserving_float64(scores, "scores")
    if len(keys) != len(grades):
        raise MetricError(f"{len(grades)} grades of relevance but {len(keys)} scores: one for each item.")
    lists = ranked_lists(np.zeros(len(grades), np.int64), grades, keys)
    served = len(lists.grades)
    lacking = _lacking_ones(served, relevant) if ideal is None else _lacking_grades(lists.grades, ideal)
    return replace(
        lists,
        offsets=np.array([0, served + len(lacking)]),
        num_above=np.pad(lists.num_above, (0, len(lacking)), constant_values=len(grades)),
        tie_block_size=np.pad(lists.tie_block_size, (0, len(lacking)), constant_values=1),
        grades=np.append(lists.grades, lacking),
        retrieved=np.arange(served + len(lacking)) < served,
    )


def ranked_lists(list_ids: IntArray, grades: Float64Array, scores: Float64Array) -> RankedLists:
    """Make lists of items, of which each has the number of its list, a grade (from 0) and a score; shape (item,) each.

    The lists come in the order of their numbers.

    >>> lists = ranked_lists(np.array([8, 5, 8]), np.array([0.5, 0.0, 2.0]), np.array([1.0, 1.0, 3.0]))
    >>> lists.offsets, lists.grades, lists.lengths
    (array([0, 0, 2]), array([2. , 0.5]), array([1, 2]))
    """
    order, starts, num_above, tie_block_size = places_of(list_ids, scores)
    ordered = grades[order]
    is_relevant = ordered > 0
    offsets = np.r_[0, np.cumsum(is_relevant)][starts]
    places = num_above[is_relevant], tie_block_size[is_relevant]
    return RankedLists(offsets, *places, ordered[is_relevant], np.diff(starts))


def places_of(list_ids: IntArray, scores: Float64Array) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Sort items by list and from the top; return the order (int64[item]) and offsets of the lists (int64[list + 1]).

    Also return, for each sorted item, how many items of its list score strictly above it, and how many have its score,
    itself included; int64[item] each.
    """
    order = np.lexsort((-scores, list_ids))
    offsets = np.r_[starts_of_runs(list_ids[order]), len(order)]
    blocks = starts_of_runs(list_ids[order], scores[order])
    sizes = np.diff(np.r_[blocks, len(order)])
    num_above = np.repeat(blocks, sizes) - np.repeat(offsets[:-1], np.diff(offsets))
    return order, offsets, num_above, np.repeat(sizes, sizes)


def _refuse_different(
    same_query: BoolArray, same_block: BoolArray, greater: IntArray, tied: IntArray, candidates: IntArray
) -> None:
    """Refuse counts that one list cannot have: all that beat or tie an answer also beat the answers below it.

    The answers are sorted by query and from the top. ``same_query`` and ``same_block`` tell of neighbours whether they
    have the same query, and the same score.
    """
    sizes = np.diff(candidates) != 0
    unequal = (np.diff(greater) != 0) | (np.diff(tied) != 0)
    below = greater[1:] < greater[:-1] + tied[:-1]
    different = same_query & (sizes | np.where(same_block, unequal, below))
    if different.any():
        row = int(np.argmax(different))
        pair = f"{candidates[row]} and {candidates[row + 1]}" if sizes[row] else f"{candidates[row]}, but not the same,"
        raise Undefined(
            f"the answers of one query met different candidates ({pair} in {int(different.sum())} places), "
            "so that they stand in no common list"
        )


def _lacking_grades(served: Float64Array, ideal: Row) -> Float64Array:
    """Return the grades of the ideal list that the served list lacks."""
    lacking = Counter(relevances(ideal, "ideal").tolist())
    lacking.subtract(served.tolist())
    if grade := max((grade for grade, number in lacking.items() if number < 0), default=0):
        raise MetricError(f"ideal: the grade {grade:g} occurs more often than in the ideal list.")
    return np.array([grade for grade in lacking.elements() if grade], np.float64)


def _lacking_ones(served: int, relevant: int | None) -> Float64Array:
    """Return a grade of 1 for each relevant item that the served list lacks."""
    if relevant is None:
        return np.empty(0)
    whole = isinstance(relevant, int | np.integer) and not isinstance(relevant, bool)
    if not whole or not served <= relevant <= MOST_RELEVANT:
        raise MetricError(f"relevant must be a whole number from {served}, as many as are in the list, to 10⁸.")
    return np.ones(relevant - served)


Values = Callable[[RankedLists, int | None], Float64Array]
"""(lists, cut-off or none) -> a value of each list; float64[list]"""


@dataclass(frozen=True)
class PerList:
    """The function of a metric that is the mean of a value of each list."""

    values: Values

    def __call__(self, lists: RankedLists, k: int) -> float:
        return lists.mean(self.values(lists, k or None))

    def of_groups(self, lists: RankedLists, starts: IntArray, k: int) -> Float64Array:
        """Compute it for many groups of lists; float64[group], NaN where it is undefined."""
        return lists.means(self.values(lists, k or None), starts)


def list_metric(names: str, text: str, values: Values, **further: Any) -> Metric:
    """Declare a metric that is the mean of a value of each list."""
    further = {"needs": "lists", "undefined": "no ranks; no common list", **further}
    return declared(names, text, PerList(values), **further)


def safe_divide(numerator: Float64Array, denominator: IntArray | Float64Array) -> Float64Array:
    """Divide; NaN where the denominator is 0. The metric has to give the reason for the NaN; float64[list]."""
    undefined = np.full(len(numerator), np.nan)
    return np.asarray(np.divide(numerator, denominator, out=undefined, where=denominator > 0), np.float64)


def value_of_list(
    metric: Metric, values: Values, relevance: Row, scores: Row | None, k: int | None, **whole: Any
) -> float:
    """Compute a metric of one list of plain arrays, for public functions such as ``ndcg``.

    ``whole`` is an argument of :func:`ranked` for relevant items that the list lacks. An empty list counts as 0 if this
    argument, or ``k`` where there is none, is given.
    """
    k = optional_cutoff(k)
    if not len(floats(relevance, "relevance")) and (scores is None or not len(floats(scores, "scores"))):
        needed, given = next(iter(whole.items()), ("k", k))
        if given is None:
            raise MetricError(f"relevance: the list is empty. To count it as 0, give {needed}.")
        relevance, scores = [0], None
    (value,) = values(ranked(relevance, scores, **whole), k)
    if np.isnan(value):
        raise Undefined("nothing in the list is relevant")
    return metric.bounded(float(value))
