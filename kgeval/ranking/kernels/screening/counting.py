"""Counting: which candidates are above each answer or tie with it, when their scores are known only within limits.

An answer's candidates are settled in three steps: by the screen, in the precision of the entities, canonically.

What numba keeps of these loops on disk holds those of other files that they call: where those change, it must go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kgeval.arrays import IntArray
from kgeval.compiling import njit
from kgeval.ranking.kernels.best_selection import known_within
from kgeval.ranking.kernels.screening.refinement import exact, score_bounds
from kgeval.ranking.kernels.screening.screens import BOUND_GROUP

REFINED, CANONICAL = range(2)
"""the columns of the effort: comparisons by a score in the precision of the entities, and by a canonical one"""


class Chunk(NamedTuple):
    """Candidates first, first + 1, … in the order of their columns, and the limits of each answer and group of them."""

    first: int
    order: IntArray
    upper: np.ndarray[Any, Any]
    lower: np.ndarray[Any, Any]


@njit(cache=True, nogil=True)
def count_screened(start, statistics, chunk, pairs, answers, counts, effort):  # type: ignore[no-untyped-def]
    """Count the candidates of a chunk, whose statistics are those of the queries from ``start`` on."""
    first, width = chunk.first, len(chunk.order)
    uncertain, flags = np.empty(width + 1, np.int64), np.empty(BOUND_GROUP, np.uint8)
    lows, highs = np.empty(width), np.empty(width)
    for row in range(len(statistics)):
        query = start + row
        known = known_within(query, first, first + width, answers)
        known_scores = exact(pairs, query, known - first)
        for answer in range(answers.offsets[query], answers.offsets[query + 1]):
            threshold = answers.thresholds[answer]
            above, found = split(statistics[row], chunk.upper[answer], chunk.lower[answer], flags, uncertain)
            candidates = chunk.order[uncertain[:found]]
            score_bounds(pairs, query, candidates, lows, highs)
            greater, tied, rescored = _count_within_bounds(pairs, query, threshold, candidates, lows, highs)
            tied -= first <= answers.positions[answer] < first + width
            _add_counts(answer, above + greater, tied, known, known_scores, answers, counts[answer])
            effort[query, REFINED] += found
            effort[query, CANONICAL] += rescored


@njit(cache=True, nogil=True)
def count_rows(start, stop, own, pairs, answers, counts, effort):  # type: ignore[no-untyped-def]
    """Count the candidates of the queries from ``start`` to before ``stop``, each its own row of entities."""
    offsets, entities = own
    for query in range(start, stop):
        candidates = entities[offsets[query] : offsets[query + 1]]
        known = known_within(query, 0, len(candidates), answers)
        known_scores = exact(pairs, query, candidates[known])
        lows, highs = np.empty(len(candidates)), np.empty(len(candidates))
        score_bounds(pairs, query, candidates, lows, highs)
        for answer in range(answers.offsets[query], answers.offsets[query + 1]):
            threshold = answers.thresholds[answer]
            greater, tied, rescored = _count_within_bounds(pairs, query, threshold, candidates, lows, highs)
            tied -= answers.positions[answer] >= 0
            _add_counts(answer, greater, tied, known, known_scores, answers, counts[answer])
            effort[query, REFINED] += len(candidates)
            effort[query, CANONICAL] += rescored


@njit(cache=True)
def _count_within_bounds(pairs, query, threshold, candidates, lows, highs):  # type: ignore[no-untyped-def]
    """Count candidates above an answer, and ties; those whose bounds enclose the answer are scored canonically."""
    greater, num_undecided = 0, 0
    for place in range(len(candidates)):
        greater += lows[place] > threshold
        num_undecided += (lows[place] <= threshold) & (highs[place] >= threshold)
    if num_undecided == 0:
        return greater, 0, 0
    undecided = np.empty(num_undecided + 1, np.int64)
    found = 0
    for place in range(len(candidates)):
        undecided[found] = candidates[place]
        found += (lows[place] <= threshold) & (highs[place] >= threshold)
    above, tied = _compare_exactly(exact(pairs, query, undecided[:num_undecided]), threshold)
    return greater + above, tied, num_undecided


@njit(cache=True)
def _add_counts(answer, greater, tied, known, known_scores, answers, counts):  # type: ignore[no-untyped-def]
    """Add to the raw counts, and to those without the known answers; the answer itself is in neither."""
    counts[0] += greater
    counts[1] += tied
    place = np.searchsorted(known, answers.positions[answer])
    itself = place < len(known) and known[place] == answers.positions[answer]
    known_greater, known_tied = _compare_exactly(known_scores, answers.thresholds[answer])
    counts[2] += greater - known_greater
    counts[3] += tied - known_tied + itself


@njit(cache=True)
def _compare_exactly(scores, threshold):  # type: ignore[no-untyped-def]
    greater, tied = 0, 0
    for place in range(len(scores)):
        greater += scores[place] > threshold
        tied += scores[place] == threshold
    return greater, tied


@njit(cache=True)
def split(statistics, upper, lower, flags, uncertain):  # type: ignore[no-untyped-def]
    """Count the columns that are certainly above, and collect those that are uncertain; return both numbers."""
    above, found = 0, 0
    for group in range(len(upper)):
        columns = statistics[group * BOUND_GROUP : (group + 1) * BOUND_GROUP]
        certain, conceivable = _compare(columns, upper[group], lower[group])
        above += certain
        if conceivable > certain:
            _flag(columns, upper[group], lower[group], flags)
            found = _collect(flags, group * BOUND_GROUP, uncertain, found)
    return above, found


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
    """Mark the uncertain columns, a byte each."""
    for column in range(len(statistics)):
        flags[column] = (statistics[column] >= possible) & (statistics[column] <= above)
    flags[len(statistics) :] = 0


@njit(cache=True)
def _collect(flags, first, uncertain, found):  # type: ignore[no-untyped-def]
    """Append the marked columns: eight at a time are passed over, and no branch asks for one alone."""
    words = flags.view(np.uint64)
    for word in range(len(words)):
        if words[word]:
            for column in range(8 * word, 8 * word + 8):
                uncertain[found] = first + column
                found += flags[column]
    return found
