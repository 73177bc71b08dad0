"""Counts of sparse scores: by bisection in sorted rows, without laying a score out for every candidate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.queries import Rows
from kgeval.models.scorer import SparseScores
from kgeval.ranking.ranking_task import RankingTask


def count_sparse(
    sparse: SparseScores, task: RankingTask, lowest: Float64Array, highest: Float64Array
) -> tuple[IntArray, IntArray]:
    """Count the candidates, which all queries share, above and inside each tie interval (float64[answer] each).

    Returns int64[answer, 2] of all candidates, and of the known answers among them.
    """
    owners = task.queries.owners  # the query of each answer; int64[answer]
    shared = task.candidates.rows.ids  # the entities that compete; int64[candidate]
    listed = _SortedScores.of(*_restricted_to(sparse, shared))
    above, tied = listed.compared(sparse.of_query[owners], lowest, highest)
    unlisted = len(shared) - np.diff(listed.offsets)[sparse.of_query[owners]]
    above += unlisted * (sparse.others > highest)
    tied += unlisted * ((sparse.others >= lowest) & (sparse.others <= highest))
    # task.known.ids are positions in `shared`.
    known = _SortedScores.of(task.known, sparse.at(task.known.owners, shared[task.known.ids]))
    return np.stack([above, tied], axis=1), np.stack(known.compared(owners, lowest, highest), axis=1)


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

    def compared(self, rows: IntArray, lowest: Float64Array, highest: Float64Array) -> tuple[IntArray, IntArray]:
        """Count the scores of some rows above intervals, and those inside them; int64[row] each."""
        above = self.offsets[rows + 1] - self._places(rows, np.searchsorted(self.values, highest, "right"))
        reaching = self.offsets[rows + 1] - self._places(rows, np.searchsorted(self.values, lowest, "left"))
        return above, reaching - above

    def _places(self, rows: IntArray, indices: IntArray) -> IntArray:
        """Find where the scores begin that have no lower index; int64[row]."""
        return np.searchsorted(self.keys, rows * (len(self.values) + 1) + indices)
