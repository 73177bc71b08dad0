"""A ranking task: queries, their candidates, and where answers and known answers stand among those."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.arrays import BoolArray, IntArray
from kgeval.corruption.generator import Candidates, SharedCandidates
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows


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

    @classmethod
    def of(cls, queries: Queries, candidates: Candidates, known: Rows) -> RankingTask:
        """Find the positions; ``known`` holds one ascending row of entities per query."""
        if isinstance(candidates, SharedCandidates):
            size = 1 + max(array.max(initial=-1) for array in (candidates.ids, known.ids, queries.answers))
            position = np.full(size, -1)
            position[candidates.ids] = np.arange(len(candidates.ids))
            places, answers = position[known.ids], position[queries.answers]
        else:
            if candidates.as_listed:
                others = known.where(~_among(known, queries.owners, queries.answers))
                return cls(queries, candidates, _all_places(candidates.rows, others), np.full(queries.num_answers, -1))
            places = _places(candidates.rows, known.owners, known.ids)
            answers = _places(candidates.rows, queries.owners, queries.answers)
        return cls(queries, candidates, Rows(known.offsets, places).where(places >= 0), answers)

    def __getitem__(self, part: slice) -> RankingTask:
        queries = self.queries
        start, stop, _ = part.indices(len(queries))
        answers = slice(queries.offsets[start], queries.offsets[stop])
        return RankingTask(queries[part], self.candidates[part], self.known[part], self.answers[answers])

    @property
    def num_candidates(self) -> IntArray:
        """The number of candidates of each query; int64[query]."""
        if isinstance(self.candidates, SharedCandidates):
            return np.full(len(self.queries), len(self.candidates.ids))
        return self.candidates.rows.lengths

    @property
    def raw_candidates(self) -> IntArray:
        """How many entities stand in each answer's raw ranking, the answer included; int64[answer]."""
        return self.num_candidates[self.queries.owners] - (self.answers >= 0) + 1

    @property
    def filtered_candidates(self) -> IntArray:
        """How many entities stand in each answer's filtered ranking, the answer included; int64[answer]."""
        owners = self.queries.owners
        itself = _places(self.known, owners, self.answers) >= 0
        return self.raw_candidates - self.known.lengths[owners] + itself


def _places(rows: Rows, owners: IntArray, ids: IntArray) -> IntArray:
    """Find each id's place in its owner's ascending row, -1 where it is not in it."""
    size = 2 + max(rows.ids.max(initial=0), ids.max(initial=0))
    keys, wanted = rows.owners * size + rows.ids, owners * size + ids
    found = np.searchsorted(keys, wanted)
    there = np.append(keys, -1)[found] == wanted
    return np.where(there & (ids >= 0), found - rows.offsets[owners], -1)


def _among(rows: Rows, owners: IntArray, ids: IntArray) -> BoolArray:
    """Whether each id in the rows is one of its owner's; bool[id in rows]."""
    size = 1 + max(rows.ids.max(initial=0), ids.max(initial=0))
    return np.isin(rows.owners * size + rows.ids, owners * size + ids)


def _all_places(rows: Rows, wanted: Rows) -> Rows:
    """Find all places of each row's ids in an ascending row, which may repeat them."""
    places = np.arange(len(rows.ids)) - rows.offsets[rows.owners]
    return Rows(rows.offsets, places).where(_among(rows, wanted.owners, wanted.ids))
