"""Counts of sparse scores: by bisection in sorted rows, without laying a score out for every candidate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.rows import Rows
from kgeval.ranking.kernels.accumulator import GREATER, RAW_GREATER, RAW_TIED, TIED, CountAccumulator
from kgeval.scorers.sparse_scorer import SparseScores


def count_sparse(sparse: SparseScores, accumulator: CountAccumulator) -> None:
    """Count candidates that all queries share, each once, into the accumulator."""
    task, thresholds = accumulator.task, accumulator.thresholds
    owners, shared = task.queries.owners, task.candidates.rows.ids
    listed = _SortedScores.of(*_among(sparse, shared))
    above, tied = listed.compared(sparse.of_query[owners], thresholds)
    unlisted = len(shared) - np.diff(listed.offsets)[sparse.of_query[owners]]
    above += unlisted * (sparse.others > thresholds)
    tied += unlisted * (sparse.others == thresholds) - (task.answers >= 0)

    known = _SortedScores.of(task.known, sparse.at(task.known.owners, shared[task.known.ids]))
    known_above, known_tied = known.compared(owners, thresholds)
    own = sparse.at(owners, task.queries.answers)
    is_known = task.known.positions(owners, task.answers) >= 0
    known_above -= is_known & (own > thresholds)
    known_tied -= is_known & (own == thresholds)

    accumulator.counts[:, RAW_GREATER] += above
    accumulator.counts[:, RAW_TIED] += tied
    accumulator.counts[:, GREATER] += above - known_above
    accumulator.counts[:, TIED] += tied - known_tied


def _among(sparse: SparseScores, shared: IntArray) -> tuple[Rows, Float64Array]:
    """Keep what is listed of some entities."""
    competes = np.zeros(1 + max(shared.max(initial=0), sparse.rows.ids.max(initial=0)), np.bool_)
    competes[shared] = True
    here: BoolArray = competes[sparse.rows.ids]
    return sparse.rows.where(here), sparse.scores[here]


class _SortedScores(NamedTuple):
    """Rows of scores, each in ascending order."""

    values: Float64Array
    """the different scores, ascending"""
    keys: IntArray
    """int64[score], ascending: its row, and its place among the values, as one number"""
    offsets: IntArray
    """int64[row + 1]"""

    @classmethod
    def of(cls, rows: Rows, scores: Float64Array) -> _SortedScores:
        values, places = np.unique(scores, return_inverse=True)
        return cls(values, np.sort(rows.owners * (len(values) + 1) + places), rows.offsets)

    def compared(self, rows: IntArray, thresholds: Float64Array) -> tuple[IntArray, IntArray]:
        """Count in the row of each threshold how many scores are above it, and how many are the same."""
        above, reaching = (
            self.offsets[rows + 1]
            - np.searchsorted(self.keys, rows * (len(self.values) + 1) + np.searchsorted(self.values, thresholds, side))
            for side in ("right", "left")
        )
        return above, reaching - above
