"""Results in the making: the counts of each answer, and the best candidates of each query, so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.rows import Rows
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.tie_rules import TieRule

RAW_GREATER, RAW_TIED, GREATER, TIED = range(4)
"""the columns of the counts"""


@dataclass(frozen=True, eq=False)
class CountAccumulator:
    """What has been counted so far for the answers of a ranking task."""

    task: RankingTask
    thresholds: Float64Array
    """float64[answer], the score of each answer"""
    counts: IntArray
    """int64[answer, 4]: raw greater, raw tied, filtered greater, filtered tied"""
    undefined: BoolArray
    """bool[query], whether a candidate's score was NaN"""

    @classmethod
    def zero(cls, task: RankingTask, thresholds: Float64Array) -> CountAccumulator:
        counts = np.zeros((task.queries.num_answers, 4), np.int64)
        return cls(task, thresholds, counts, np.zeros(len(task.queries), np.bool_))

    def __getitem__(self, part: slice) -> CountAccumulator:
        """View some queries: what is counted in the view is counted here."""
        start, stop, _ = part.indices(len(self.task.queries))
        own = slice(*self.task.queries.offsets[[start, stop]])
        return CountAccumulator(self.task[part], self.thresholds[own], self.counts[own], self.undefined[part])

    @classmethod
    def at_ends(cls, task: RankingTask, answers: Float64Array, tie_rule: TieRule) -> CountAccumulator:
        """Begin to count at both ends of each answer's tie interval, as if each end were an answer.

        Where all intervals are one score, and where a task has thresholds of its own, these are counted once.
        """
        if task.thresholds is not None:
            return cls.zero(task, task.thresholds)
        lowest, highest = tie_rule(answers)
        if np.array_equal(lowest, highest, equal_nan=True):
            return cls.zero(task, highest)
        return cls.zero(task.with_answers_twice(), np.stack([highest, lowest], axis=1).ravel())

    def between_ends(self, task: RankingTask, answers: Float64Array, *, nan_last: bool = False) -> CountAccumulator:
        """Combine what was counted at both ends: what reaches the lowest and is not above the highest is tied.

        An answer reaches the lowest end itself. A kernel that meets it as a candidate counts it there as above, and
        takes it from those that tie with the end: of both together, it is in neither.
        """
        each = max(1, len(self.thresholds) // max(1, len(answers)))
        above, lowest = self.counts[::each, ::2], self.counts[each - 1 :: each]
        tied = lowest[:, ::2] + lowest[:, 1::2] - above
        found = CountAccumulator(task, answers, np.stack([above, tied], axis=2).reshape(-1, 4), self.undefined)
        if nan_last:
            found.rank_undefined_last(self.thresholds[each - 1 :: each])
        return found

    def rank_undefined_last(self, lowest: Float64Array) -> None:
        """Count NaN as the worst possible score, minus infinity.

        No kernel finds NaN above an answer, nor level with one. It ties with those whose tie interval begins at minus
        infinity (``lowest``, float64[answer]): whatever is not above them ties.
        """
        counts, others = self.counts, (self.filtered.candidates - 1, self.raw.candidates - 1)
        for (above, tied), candidates in zip(((GREATER, TIED), (RAW_GREATER, RAW_TIED)), others, strict=True):
            counts[:, tied] = np.where(lowest == -np.inf, candidates - counts[:, above], counts[:, tied])

    @property
    def filtered(self) -> RankCounts:
        """The counts without other known answers."""
        return RankCounts(self.counts[:, GREATER], self.counts[:, TIED], self.task.filtered_candidates)

    @property
    def raw(self) -> RankCounts:
        return RankCounts(self.counts[:, RAW_GREATER], self.counts[:, RAW_TIED], self.task.raw_candidates)


def within(known: Rows, first: int, width: int) -> Rows:
    """Take the known answers of a chunk of candidates, the first of which has position ``first``, by their places."""
    places = known.ids - first
    inside = known.where((places >= 0) & (places < width))
    return Rows(inside.offsets, inside.ids - first)


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
        scores, positions = (np.full((len(known), places), fill) for fill in (-np.inf, -1))
        tied, undefined = np.zeros((len(known), 2), np.int64), np.zeros(len(known), np.bool_)
        return cls(scores, positions, tied, undefined, known, drops_known, nan_last)

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
        return replace(self, **{name: array[part] for name, array in self._found.items()}, known=self.known[part])

    def copied(self) -> BestAnswers:
        """Copy what was found, so that more can be merged into it on trial."""
        return replace(self, **{name: array.copy() for name, array in self._found.items()})

    def take_over(self, trial: BestAnswers) -> None:
        for name, array in self._found.items():
            array[:] = trial._found[name]

    @property
    def _found(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("scores", "positions", "tied", "undefined")}

    @classmethod
    def concatenated(cls, parts: Sequence[BestAnswers]) -> BestAnswers:
        """Concatenate the best answers of several blocks of queries, of which there is at least one."""
        found: dict[str, Any] = {
            name: np.concatenate([part._found[name] for part in parts]) for name in parts[0]._found
        }
        lengths, ids = (np.concatenate([getattr(part.known, name) for part in parts]) for name in ("lengths", "ids"))
        return replace(parts[0], **found, known=Rows.sized(lengths, ids))
