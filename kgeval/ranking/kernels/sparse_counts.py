"""Counts of sparse scores: by bisection in sorted rows, without laying a score out for every candidate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.rows import Rows
from kgeval.ranking.ranking_task import RankingTask
from kgeval.scorers.sparse_scorer import SparseScores


def count_sparse(sparse: SparseScores, task: RankingTask, thresholds: Float64Array) -> IntArray:
    """Count the candidates, which all queries share, at each threshold (float64[answer]).

    Returns int64[answer, 4]: raw greater, raw tied, filtered greater, filtered tied.
    """
    owners = task.queries.owners  # the query of each answer; int64[answer]
    shared = task.candidates.rows.ids  # the entities that compete; int64[candidate]
    listed = _SortedScores.of(*_restricted_to(sparse, shared))
    above, tied = listed.compared(sparse.of_query[owners], thresholds)
    unlisted = len(shared) - np.diff(listed.offsets)[sparse.of_query[owners]]
    # A threshold may be the low end of the answer's tie interval (CountAccumulator.at_ends): the answer itself
    # may then be above it. GREATER keeps the answer, TIED takes it off; their sum, which alone is used there, is right.
    above += unlisted * (sparse.others > thresholds)
    tied += unlisted * (sparse.others == thresholds) - (task.answers >= 0)

    # task.known.ids are positions in `shared`. An answer among them was taken off above: not twice.
    known = _SortedScores.of(task.known, sparse.at(task.known.owners, shared[task.known.ids]))
    known_above, known_tied = known.compared(owners, thresholds)
    own = sparse.at(owners, task.queries.answers)
    is_known = task.known.positions(owners, task.answers) >= 0
    known_above -= is_known & (own > thresholds)
    known_tied -= is_known & (own == thresholds)

    return np.stack([above, tied, above - known_above, tied - known_tied], axis=1)


def _restricted_to(sparse: SparseScores, entities: IntArray) -> tuple[Rows, Float64Array]:
    """Keep the listed scores whose entity is in ``entities``: rows, and float64[kept]."""
    is_candidate = np.zeros(1 + max(entities.max(initial=0), sparse.rows.ids.max(initial=0)), np.bool_)
    is_candidate[entities] = True
    keep: BoolArray = is_candidate[sparse.rows.ids]
    return sparse.rows.where(keep), sparse.scores[keep]


class _SortedScores(NamedTuple):
    """Rows of scores, each in ascending order."""

    values: Float64Array
    """the different scores, ascending"""
    keys: IntArray
    """int64[score], ascending: row × (len(values) + 1) + index of the score in ``values``"""
    offsets: IntArray
    """int64[row + 1]"""

    @classmethod
    def of(cls, rows: Rows, scores: Float64Array) -> _SortedScores:
        values, indices = np.unique(scores, return_inverse=True)
        # One more than the values: in `compared`, a threshold above all of them has the index len(values).
        return cls(values, np.sort(rows.owners * (len(values) + 1) + indices), rows.offsets)

    def compared(self, rows: IntArray, thresholds: Float64Array) -> tuple[IntArray, IntArray]:
        above, reaching = (
            self.offsets[rows + 1]
            - np.searchsorted(self.keys, rows * (len(self.values) + 1) + np.searchsorted(self.values, thresholds, side))
            for side in ("right", "left")
        )
        return above, reaching - above
