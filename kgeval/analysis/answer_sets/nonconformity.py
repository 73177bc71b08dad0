"""Nonconformities (conformal scores): rank, gap, softmax; how badly a candidate fits its query.

``answers.py`` measures a scored split by one, and asks which scores are within a limit. To add one, define a
:class:`Nonconformity` and name it in ``NONCONFORMITIES``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kgeval.analysis.answer_sets.scored_split import ScoredSplit, SideTask
from kgeval.base.arrays import Float64Array
from kgeval.base.errors import MetricError, refuse_unknown
from kgeval.ranking.kernels.collectors import BestAnswers
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.rules import tied_under


@dataclass(frozen=True)
class Nonconformity:
    """A nonconformity: its name, its formula, and how a split is measured by it.

    The set of a row has the candidates whose nonconformity is at most the row's limit. A higher score never has a
    larger nonconformity, so the set has all candidates from some score on: ties are all in it, or all outside.
    """

    name: str
    formula: str
    """the nonconformity of a score s, as it is shown"""
    measure: Callable[[ScoredSplit], BelowReference | PessimisticRanks]
    """(split) -> an object with the nonconformities of its answers, and the lowest scores within given limits"""


@dataclass(frozen=True, eq=False)
class BelowReference:
    """The nonconformities ``gap`` and ``softmax``: how far a score s is below a reference of its row, reference − s."""

    scores: Float64Array
    """the scores of the answers; float64[row]"""
    references: Float64Array
    """the score that each row is compared with: its best score, or its log-sum; float64[row]"""

    @property
    def values(self) -> Float64Array:
        """The nonconformity of each answer; float64[row]."""
        infinite = np.where(self.scores == np.inf, 0.0, np.inf)
        finite = np.isfinite(self.references)
        return np.where(finite, np.where(finite, self.references, 0.0) - self.scores, infinite)

    def lowest_scores(self, limits: Float64Array) -> Float64Array:
        """Find the lowest score in each row's set; float64[row], −∞ where all candidates are in, +∞ where none is."""
        finite = np.isfinite(self.references)
        references, reach = np.where(finite, self.references, 0.0), np.where(np.isinf(limits), 0.0, limits)
        lowest, _ = tied_under(lambda scores: np.asarray(references - scores <= reach, np.float64))(references)
        return np.where(np.isinf(limits), -np.inf, np.where(finite, lowest, np.inf))


@dataclass(frozen=True, eq=False)
class PessimisticRanks:
    """The nonconformity ``rank``: how many candidates score at least as high."""

    split: ScoredSplit

    @property
    def values(self) -> Float64Array:
        """The nonconformity of each answer; float64[row]."""
        return pessimistic_ranks(self.split.ranks)

    def lowest_scores(self, limits: Float64Array) -> Float64Array:
        """Find the lowest score in each row's set, as :meth:`BelowReference.lowest_scores` does."""
        candidates = self.split.ranks.column("candidates")
        lowest = np.where(limits >= candidates, -np.inf, np.inf)
        searched = (limits >= 1) & (limits < candidates)
        # One place more than the limit is searched, so that a tie across the limit is found as well.
        places = np.where(searched, np.where(searched, limits, 0) + 1, 0).astype(np.int64)
        values, scores = self.values, self.split.scores
        for side, best in self.split.best(places):
            rows = side.rows[searched[side.rows]]
            listed = _lowest_listed(side, best, scores, limits)[searched[side.rows]]
            lowest[rows] = np.where(values[rows] <= limits[rows], np.minimum(listed, scores[rows]), listed)
        return lowest


def measure_by_softmax(split: ScoredSplit) -> BelowReference:
    """Compare scores with the log-sum of each row's candidates.

    1 − p, with p = exp(s) / Σ exp, is the nonconformity of Sadinle, Lei and Wasserman (2019), which Zhu et al. (2025)
    take for the answers of knowledge graphs. −log p = log Σ exp − s orders candidates as 1 − p does, so the sets are
    the same, and it does not underflow.
    """
    others = split.by_row(lambda side: split.engine.log_sums(split.scorer, side.task)[side.task.queries.owners])
    with_answer = np.logaddexp(others, split.scores)
    return BelowReference(split.scores, np.where(split.answer_is_known, with_answer, others))


RANK = Nonconformity("rank", "#{c : s(c) ≥ s}", PessimisticRanks)

GAP = Nonconformity(
    "gap", "max s − s", lambda split: BelowReference(split.scores, np.maximum(split.best_others, split.scores))
)

SOFTMAX = Nonconformity("softmax", "log Σ exp − s", measure_by_softmax)
NONCONFORMITIES = {one.name: one for one in (GAP, RANK, SOFTMAX)}


def find_nonconformity(name: str) -> Nonconformity:
    refuse_unknown("nonconformity: unknown", name, NONCONFORMITIES, MetricError)
    return NONCONFORMITIES[name]


def pessimistic_ranks(ranks: RankTable) -> Float64Array:
    """Take the pessimistic ranks of a table, 1 + greater + tied; float64[row].

    All ties are counted, so that a set with the limit r has at most r entities: ties across its end are left out.
    """
    return np.asarray(1.0 + ranks.column("greater") + ranks.column("tied"))


def _lowest_listed(side: SideTask, best: BestAnswers, scores: Float64Array, limits: Float64Array) -> Float64Array:
    """Find the lowest listed score whose pessimistic rank, answer included, is within the limit; float64[answer]."""
    owners = side.task.queries.owners
    listed = best.scores[owners]
    _, ends = best.spans_of_ties
    ranks = ends[owners] + (side.is_known[:, None] & (scores[side.rows, None] >= listed))
    within = (ranks <= limits[side.rows, None]) & (listed > -np.inf)
    return np.asarray(np.where(within, listed, np.inf).min(axis=1, initial=np.inf))
