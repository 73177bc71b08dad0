"""From ranks to lists: where all answers of a query stand in the one list of its negatives and answers.

A filtered rank leaves the other known answers out. Where the evaluated split is among the filtered ones, the place of
an answer in the whole list, its fellow answers included, is its filtered rank and the fellow answers above it.
"""

from __future__ import annotations

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.graph.queries import starts_of_runs
from kgeval.metrics.lists import RankedLists
from kgeval.metrics.metric import Undefined
from kgeval.metrics.ranks import Ranks


def answer_lists(queries: IntArray, scores: Float64Array, ranks: Ranks) -> RankedLists:
    """Put the answers of each query into one list, where every answer is relevant alike.

    Parameters
    ----------
    queries
        which query each row asks; int64[row]
    scores
        the answers' scores; equal ones tie; float64[row]
    ranks
        the filtered counts

    Raises
    ------
    Undefined
        if the answers of a query did not meet the same candidates, or a score is NaN

    Examples
    --------
    Two answers, ranked 1 and 2 without each other: the second stands third.

    >>> ranks = Ranks(np.array([1, 0]), np.array([0, 0]), np.array([9, 9]))
    >>> lists = answer_lists(np.array([4, 4]), np.array([0.5, 0.8]), ranks)
    >>> lists.before, lists.lengths
    (array([0, 2]), array([10]))
    """
    if np.isnan(scores).any():
        raise Undefined("the score of an answer is NaN, so that its place among the others is not known")
    order = np.lexsort((-scores, queries))
    query, score = queries[order], scores[order]
    greater, tied, candidates = ranks.greater[order], ranks.tied[order], ranks.candidates[order]
    first, blocks = starts_of_runs(query), starts_of_runs(query, score)
    offsets = np.r_[first, len(query)]
    sizes = np.diff(np.r_[blocks, len(query)])
    fellows = np.repeat(blocks, sizes) - np.repeat(first, np.diff(offsets))
    same_query, same_block = ~_starts(first, len(query)), ~_starts(blocks, len(query))
    _refuse_different(same_query, same_block, greater, tied, candidates)
    lengths = candidates[first] - 1 + np.diff(offsets)
    return RankedLists(offsets, greater + fellows, tied + np.repeat(sizes, sizes), np.ones(len(query)), lengths)


def _starts(places: IntArray, length: int) -> BoolArray:
    starts = np.zeros(length, np.bool_)
    starts[places] = True
    return starts


def _refuse_different(
    same_query: BoolArray, same_block: BoolArray, greater: IntArray, tied: IntArray, candidates: IntArray
) -> None:
    """Refuse counts that one list cannot have: an answer cannot be beaten by fewer than one that scores above it."""
    sizes = np.r_[False, candidates[1:] != candidates[:-1]]
    level = np.r_[False, (greater[1:] != greater[:-1]) | (tied[1:] != tied[:-1])]
    below = np.r_[False, greater[1:] < greater[:-1] + tied[:-1]]
    different = same_query & (sizes | np.where(same_block, level, below))
    if different.any():
        row = int(np.argmax(different))
        pair = f"{candidates[row - 1]} and {candidates[row]}" if sizes[row] else f"{candidates[row]}, but not the same,"
        raise Undefined(
            f"the answers of one query met different candidates ({pair} in {int(different.sum())} places), "
            "so that they stand in no common list"
        )
