"""From ranks to lists: the places of all answers of a query in one list of its candidates and answers.

A filtered rank leaves the other known answers out. If the evaluated split is one of the filter, the place of an answer
in the list of them all is its filtered rank plus the number of other answers above it.
"""

from __future__ import annotations

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.metrics.lists.ranked_lists import Places, RankedLists
from kgeval.metrics.metric import Undefined
from kgeval.metrics.ranks.ranks import Ranks


def answer_lists(queries: IntArray, scores: Float64Array, ranks: Ranks) -> RankedLists:
    """Put the answers of each query into one list, where all answers are equally relevant.

    Parameters
    ----------
    queries
        the query of each row; int64[row]
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
    >>> lists.num_above, lists.lengths
    (array([0, 2]), array([10]))
    """
    if np.isnan(scores).any():
        raise Undefined("the score of an answer is NaN, so that its place among the others is not known")
    order, offsets, answers_above, answers_tied = Places.of(queries, scores)
    greater, tied, candidates = ranks.greater[order], ranks.tied[order], ranks.candidates[order]
    _refuse_different(np.diff(queries[order]) == 0, np.diff(answers_above) == 0, greater, tied, candidates)
    lengths = candidates[offsets[:-1]] - 1 + np.diff(offsets)
    return RankedLists(offsets, greater + answers_above, tied + answers_tied, np.ones(len(order)), lengths)


def _refuse_different(
    same_query: BoolArray, same_block: BoolArray, greater: IntArray, tied: IntArray, candidates: IntArray
) -> None:
    """Refuse counts that one list cannot have: an answer is beaten by all that beat or tie the one above it."""
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
