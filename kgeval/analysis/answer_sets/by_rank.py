"""Nonconformity by rank: how many candidates score at least as high."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.analysis.answer_sets.nonconformity import Nonconformity, SplitNonconformities
from kgeval.analysis.answer_sets.scored_split import ScoredSplit, SideTask
from kgeval.arrays import Float64Array
from kgeval.ranking.kernels.best_answers import BestAnswers
from kgeval.ranking.rank_table import RankTable


def pessimistic_ranks(ranks: RankTable) -> Float64Array:
    """Take the pessimistic ranks of a table, 1 + greater + tied; float64[row].

    Whoever ties is counted, so that a set of rank r has at most r entities, and ties beyond the last are left out.
    """
    return np.asarray(1.0 + ranks.column("greater") + ranks.column("tied"))


@dataclass(frozen=True, eq=False)
class PessimisticRanks(SplitNonconformities):
    """The pessimistic ranks of one split."""

    split: ScoredSplit

    @property
    def values(self) -> Float64Array:
        """The ranks."""
        return pessimistic_ranks(self.split.ranks)

    def lowest_scores(self, limits: Float64Array) -> Float64Array:
        """Look for the last place whose candidates, with all that tie, are no more than the limit."""
        candidates = self.split.ranks.column("candidates")
        lowest = np.where(limits >= candidates, -np.inf, np.inf)
        searched = (limits >= 1) & (limits < candidates)
        # With one place more than the limit, whoever ties with the last one found has too many beside it.
        places = np.where(searched, np.where(searched, limits, 0) + 1, 0).astype(np.int64)
        values, scores = self.values, self.split.scores
        for side, best in self.split.best(places):
            rows = side.rows[searched[side.rows]]
            found = _lowest_listed(side, best, scores, limits)[searched[side.rows]]
            lowest[rows] = np.where(values[rows] <= limits[rows], np.minimum(found, scores[rows]), found)
        return lowest


def _lowest_listed(side: SideTask, best: BestAnswers, scores: Float64Array, limits: Float64Array) -> Float64Array:
    """Find the lowest score of those listed whose pessimistic rank, answer included, is within; float64[answer]."""
    owners = side.task.queries.owners
    listed = best.scores[owners]
    _, ends = best.spans_of_ties
    ranks = ends[owners] + (side.is_known[:, None] & (scores[side.rows, None] >= listed))
    within = (ranks <= limits[side.rows, None]) & (listed > -np.inf)
    return np.asarray(np.where(within, listed, np.inf).min(axis=1, initial=np.inf))


RANK = Nonconformity("rank", "#{c : s(c) ≥ s}", PessimisticRanks)
