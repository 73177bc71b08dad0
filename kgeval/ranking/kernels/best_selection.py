"""Selection: the compiled loops that merge candidates into the best answers of each query.

``compiled``, ``screening/selection`` and the device kernel call them: with rows of scores (``select_rows``), or with
the few candidates that may be among the best (``merge_rows``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.compiling import njit
from kgeval.ranking.kernels.collectors import ALL, KNOWN, BestAnswers

LARGEST_CLASS = 64
"""the largest number of columns in a class of ``bound_of_best``: more make the bound weaker"""


class BestArrays(NamedTuple):
    """The arrays of ``BestAnswers``, whose attributes are described there, for the compiled loops."""

    scores: Float64Array
    positions: IntArray
    tied: IntArray
    undefined: BoolArray
    known_offsets: IntArray
    """int64[query + 1], where each query's known answers begin"""
    known: IntArray
    """the positions of known answers, ascending for each query"""
    drops_known: bool
    nan_last: bool


def best_arrays(best: BestAnswers) -> BestArrays:
    """View the best answers as plain arrays: candidates that are merged into these are merged into the answers."""
    return BestArrays(
        *(best.scores, best.positions, best.tied, best.undefined),
        *(best.known.offsets, best.known.ids, best.drops_known, best.nan_last),
    )


@njit(cache=True, nogil=True)
def select_rows(begin, end, scores, first, best):  # type: ignore[no-untyped-def]
    """Merge rows of scores, of the candidates at positions first, first + 1, …, into the best of their queries."""
    for query in range(begin, end):
        select_row(query, scores[query], first, best)


@njit(cache=True)
def select_row(query, scores, first, best):  # type: ignore[no-untyped-def]
    """Merge a row of scores; first, a lower bound of the last place's score rules out most candidates."""
    is_nan = np.isnan(scores)
    if is_nan.any():
        if not best.nan_last:
            best.undefined[query] = True
            return
        scores = np.where(is_nan, -np.inf, scores)
    if best.drops_known:
        scores = scores.copy()
        for position in known_within(query, first, first + len(scores), best):
            scores[position - first] = -np.inf
    least = max(best.scores[query, -1], bound_of_best(scores, best.scores.shape[1]))
    entering = np.flatnonzero(scores >= least)
    merge(query, scores[entering], first + entering, best)


@njit(cache=True)
def known_within(query, first, end, best):  # type: ignore[no-untyped-def]
    """Take the known answers of a query at the positions from ``first`` to before ``end``."""
    known = best.known[best.known_offsets[query] : best.known_offsets[query + 1]]
    return known[np.searchsorted(known, first) : np.searchsorted(known, end)]


@njit(cache=True)
def bound_of_best(row, places):  # type: ignore[no-untyped-def]
    """Find a score that at least ``places`` columns of a row reach, or all if it has fewer: a bound for the last place.

    The columns of a class are a stride apart, so that neighbours are in different classes. The bound is the
    ``places``-th largest of the classes' maxima.
    """
    if len(row) <= places:
        return row.min()
    size = max(1, min(LARGEST_CLASS, len(row) // (8 * places)))
    classes = len(row) // size
    maxima = row[:classes].copy()
    for member in range(1, size):
        members = row[member * classes : (member + 1) * classes]
        for place in range(classes):
            maxima[place] = max(maxima[place], members[place])
    return np.partition(maxima, classes - places)[classes - places]


@njit(cache=True, nogil=True)
def merge_rows(begin, end, offsets, scores, positions, best):  # type: ignore[no-untyped-def]
    """Merge candidates of each query, the entries from ``offsets[query]`` to before ``offsets[query + 1]``."""
    for query in range(begin, end):
        entries = slice(offsets[query], offsets[query + 1])
        merge(query, scores[entries], positions[entries], best)


@njit(cache=True)
def merge(query, scores, positions, best):  # type: ignore[no-untyped-def]
    """Merge candidates that were not met before, at ascending positions, into the best of their query."""
    last = best.scores[query, -1]
    entering = np.flatnonzero((scores >= last) & (scores > -np.inf))
    if len(entering) == 0:
        return
    scores, positions = scores[entering], positions[entering]
    order = np.argsort(-scores, kind="mergesort")  # stable: equal scores stay in the order of their positions
    old_scores, old_positions = best.scores[query].copy(), best.positions[query].copy()
    old, new = 0, 0
    for place in range(len(old_scores)):
        takes_new = False
        if new < len(order):
            score, position = scores[order[new]], positions[order[new]]
            takes_new = score > old_scores[old] or (score == old_scores[old] and position < old_positions[old])
        if takes_new:
            best.scores[query, place], best.positions[query, place] = score, position
            new += 1
        else:
            best.scores[query, place], best.positions[query, place] = old_scores[old], old_positions[old]
            old += 1
    _count_ties(query, last, (old_scores, old_positions), (scores, positions), best)


@njit(cache=True)
def _count_ties(query, last, old, new, best):  # type: ignore[no-untyped-def]
    """Count the candidates with the score of the last place, also those beyond the last place."""
    now = best.scores[query, -1]
    if now == -np.inf:
        return
    if now != last:
        # An earlier candidate with a score above the earlier last place is among the earlier best.
        best.tied[query, :] = 0
        _add_ties(query, now, old[0], old[1], best)
    _add_ties(query, now, new[0], new[1], best)


@njit(cache=True)
def _add_ties(query, score, scores, positions, best):  # type: ignore[no-untyped-def]
    known = best.known[best.known_offsets[query] : best.known_offsets[query + 1]]
    for index in range(len(scores)):
        if scores[index] == score:
            best.tied[query, ALL] += 1
            place = np.searchsorted(known, positions[index])
            best.tied[query, KNOWN] += place < len(known) and known[place] == positions[index]
