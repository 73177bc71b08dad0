"""The best answers in the making: of each query, the best candidates so far, and how many tie with the last of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.rows import Rows

ALL, KNOWN = range(2)
"""the columns of the ties: of all candidates, and of known answers"""


@dataclass(frozen=True, eq=False)
class BestAnswers:
    """The best so far: by score, descending, and where scores are equal by position, ascending.

    A score of minus infinity rules a candidate out: it is never among the best.
    """

    scores: Float64Array
    """float64[query, place], −∞ where there are no more"""
    positions: IntArray
    """int64[query, place], positions among the shared candidates, −1 where there are no more"""
    tied: IntArray
    """int64[query, 2]: of all candidates that were met, and of the known answers among them, how many have the score of
    the last place"""
    undefined: BoolArray
    """bool[query], whether a candidate's score was NaN"""
    known: Rows
    """the positions of each query's known answers, ascending"""
    drops_known: bool
    """whether known answers are left out"""
    nan_last: bool = False
    """whether a candidate whose score is NaN is ruled out, and nothing is undefined"""

    @classmethod
    def none(cls, known: Rows, places: int, *, drops_known: bool, nan_last: bool = False) -> BestAnswers:
        """Begin to search for the best of each query, one row of known answers each."""
        shape = (len(known), places)
        return cls(
            np.full(shape, -np.inf),
            np.full(shape, -1),
            np.zeros((len(known), 2), np.int64),
            np.zeros(len(known), np.bool_),
            known,
            drops_known,
            nan_last,
        )

    @property
    def spans_of_ties(self) -> tuple[IntArray, IntArray]:
        """Where those that tie with each place begin and end in its list; int64[query, place] each."""
        width = self.scores.shape[1]
        changes = self.scores[:, 1:] != self.scores[:, :-1]
        columns, edge = np.arange(width), np.ones((len(self.scores), 1), np.bool_)
        starts = np.maximum.accumulate(np.where(np.hstack([edge, changes]), columns, 0), axis=1)
        ends = np.where(np.hstack([changes, edge]), columns + 1, width)[:, ::-1]
        return starts, np.minimum.accumulate(ends, axis=1)[:, ::-1]

    def __getitem__(self, part: slice) -> BestAnswers:
        """View some queries: what is merged into the view is merged here."""
        return BestAnswers(
            *(self.scores[part], self.positions[part], self.tied[part], self.undefined[part]),
            *(self.known[part], self.drops_known, self.nan_last),
        )

    def copied(self) -> BestAnswers:
        """Copy what was found, so that more can be merged into it on trial."""
        return BestAnswers(
            *(self.scores.copy(), self.positions.copy(), self.tied.copy(), self.undefined.copy()),
            *(self.known, self.drops_known, self.nan_last),
        )

    def take_over(self, trial: BestAnswers) -> None:
        """Take over what was merged into a copy."""
        self.scores[:], self.positions[:], self.tied[:] = trial.scores, trial.positions, trial.tied
        self.undefined[:] = trial.undefined

    @classmethod
    def concatenated(cls, parts: Sequence[BestAnswers]) -> BestAnswers:
        """Concatenate the best answers of several blocks of queries, of which there is at least one."""
        scores, positions, tied, undefined = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("scores", "positions", "tied", "undefined")
        )
        known = Rows.sized(
            np.concatenate([part.known.lengths for part in parts]), np.concatenate([part.known.ids for part in parts])
        )
        return cls(scores, positions, tied, undefined, known, parts[0].drops_known, parts[0].nan_last)
