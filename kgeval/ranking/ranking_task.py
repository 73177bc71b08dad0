"""A ranking task: queries, their candidates, and where answers and known answers stand among those."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.queries import Queries, Rows
from kgeval.ranking.corruption.candidates import Candidates


@dataclass(frozen=True, eq=False)
class RankingTask:
    """Queries, their candidates, and the positions that must not count.

    A candidate is known by its position in its query's list; the list is shared by all queries, or each has its own.
    """

    queries: Queries
    candidates: Candidates
    known: Rows
    """the positions of each query's known answers, ascending; those that are no candidates are left out, and where an
    answer competes with itself, its own"""
    answers: IntArray
    """int64[answer], the position of each answer, -1 where it is no candidate, or competes with itself as listed"""
    thresholds: Float64Array | None = None
    """float64[answer], the scores from which candidates are counted; by default those of the answers"""

    @classmethod
    def of(cls, queries: Queries, candidates: Candidates, known: Rows) -> RankingTask:
        """Find the positions; ``known`` holds one ascending row of entities per query."""
        if candidates.as_listed:
            others = known.where(~_among(known, queries.owners, queries.answers))
            rows = candidates.per_query(len(queries))
            return cls(queries, candidates, _all_places(rows, others), np.full(queries.num_answers, -1))
        places = candidates.positions(known.owners, known.ids)
        answers = candidates.positions(queries.owners, queries.answers)
        return cls(queries, candidates, Rows(known.offsets, places).where(places >= 0), answers)

    def __getitem__(self, part: slice) -> RankingTask:
        queries = self.queries
        start, stop, _ = part.indices(len(queries))
        answers = slice(queries.offsets[start], queries.offsets[stop])
        thresholds = None if self.thresholds is None else self.thresholds[answers]
        return RankingTask(queries[part], self.candidates[part], self.known[part], self.answers[answers], thresholds)

    def where(self, keep: BoolArray) -> RankingTask:
        """Keep the queries for which ``keep`` (bool[query]) holds; all share their candidates."""
        known, of_answers = self.known, keep[self.queries.owners]
        return replace(
            self,
            queries=self.queries.where(keep),
            known=Rows.sized(known.lengths[keep], known.ids[keep[known.owners]]),
            answers=self.answers[of_answers],
            thresholds=None if self.thresholds is None else self.thresholds[of_answers],
        )

    def counted_from(self, thresholds: Float64Array) -> RankingTask:
        """Count candidates from other scores than the answers' (float64[answer]).

        An answer is then a candidate as any other: left out where it is a known one.
        """
        return replace(self, thresholds=thresholds, answers=np.full(self.queries.num_answers, -1))

    @property
    def num_candidates(self) -> IntArray:
        """The number of candidates of each query; int64[query]."""
        return self.candidates.num_candidates(len(self.queries))

    @property
    def raw_candidates(self) -> IntArray:
        """How many entities stand in each answer's raw ranking, the answer included; int64[answer]."""
        return self.num_candidates[self.queries.owners] - (self.answers >= 0) + 1

    @property
    def filtered_candidates(self) -> IntArray:
        """How many entities stand in each answer's filtered ranking, the answer included; int64[answer]."""
        owners = self.queries.owners
        itself = self.known.positions(owners, self.answers) >= 0
        return self.raw_candidates - self.known.lengths[owners] + itself


def _among(rows: Rows, owners: IntArray, ids: IntArray) -> BoolArray:
    """Whether each id in the rows belongs to its owner; bool[id in rows]."""
    size = 1 + max(rows.ids.max(initial=0), ids.max(initial=0))
    return np.isin(rows.owners * size + rows.ids, owners * size + ids)


def _all_places(rows: Rows, wanted: Rows) -> Rows:
    """Find all places of each row's ids in an ascending row, which may repeat them."""
    places = np.arange(len(rows.ids)) - rows.offsets[rows.owners]
    return Rows(rows.offsets, places).where(_among(rows, wanted.owners, wanted.ids))
