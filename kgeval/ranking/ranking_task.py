"""A ranking task and its result: which candidates each answer competes with, and how many of them beat or tie it.

``model_ranking`` makes tasks of queries, ``engine`` ranks them. ``RankCounts`` are the counts that a rank table keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import counted
from kgeval.base.tables.shown import Brief
from kgeval.data.queries import Queries, Rows
from kgeval.ranking.corruption.candidates import Candidates


@dataclass(frozen=True, eq=False)
class RankingTask:
    """Queries, their candidates, and the positions of candidates that must not count.

    A candidate is known by its position in the candidate list of its query; all queries share one list, or each query
    has its own. A list "as listed" (OGB's) may hold an entity twice, and an answer among its own negatives: every
    position counts.
    """

    queries: Queries
    candidates: Candidates
    known: Rows
    """for each query, the positions of its known answers in the candidate list, ascending; if lists are taken as
    listed, without the query's own answers"""
    answers: IntArray
    """int64[answer], the position of each answer in the candidate list, which is subtracted from the counts; -1 if
    nothing is subtracted: the answer is no candidate, or lists are taken as listed"""
    thresholds: Float64Array | None = None
    """float64[answer], the score that candidates are compared with; by default the score of the answer; answer sets set
    others (``counted_from``)"""

    @classmethod
    def of(cls, queries: Queries, candidates: Candidates, known: Rows) -> RankingTask:
        """Make a task, and find the positions; ``known`` holds one ascending row of entities per query."""
        if candidates.as_listed:
            own = Rows(queries.offsets, queries.answers)
            others = known.where(own.positions(known.owners, known.ids) < 0)
            rows = candidates.per_query(len(queries))
            places = np.arange(len(rows.ids)) - rows.offsets[rows.owners]  # of ids that a row may repeat
            known = Rows(rows.offsets, places).where(others.positions(rows.owners, rows.ids) >= 0)
            return cls(queries, candidates, known, np.full(queries.num_answers, -1))
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
        """Compare candidates with thresholds (float64[answer]) instead of the answers' scores.

        An answer is then a candidate like any other: it is left out if it is a known answer.
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
        return self.raw_candidates - self.known.lengths[self.queries.owners] + self.is_known

    @cached_property
    def is_known(self) -> BoolArray:
        """Whether each answer is one of the known answers of its query; bool[answer]."""
        return self.known.positions(self.queries.owners, self.answers) >= 0


class Ranked(NamedTuple):
    """The counts of the answers of a ranking task."""

    scores: Float64Array
    """float64[answer], the score of each answer"""
    filtered: RankCounts
    raw: RankCounts
    nan: IntArray | None = None
    """int64[answer, 2], if NaN counts as the worst score: how many scores of other candidates were NaN, and whether the
    answer's own score was (0 or 1)"""
    second: RankCounts | None = None
    """the counts by the second filter of the rules, if they have one"""

    @property
    def order(self) -> Float64Array:
        """Minus the raw realistic rank of each answer, to order the answers of a query by; float64[answer]."""
        return -(1 + self.raw.greater + self.raw.tied / 2)

    def take(self, answers: IntArray) -> Ranked:
        """Take some answers, in another order."""
        nan = None if self.nan is None else self.nan[answers]
        second = None if self.second is None else self.second.take(answers)
        return Ranked(self.scores[answers], self.filtered.take(answers), self.raw.take(answers), nan, second)

    def with_nan(self) -> Ranked:
        """Return the same counts, with zeros for ``nan`` if it is None."""
        return self if self.nan is not None else self._replace(nan=np.zeros((len(self.scores), 2), np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class RankCounts(Brief):
    """How many candidates beat or tie each answer, and how many there were.

    Counts over parts of the candidates add up to the counts over all of them; every part counts the answer itself
    among its ``candidates``, the sum counts it once.

    Examples
    --------
    >>> import numpy as np
    >>> first, second = (RankCounts(*np.array([[2], [1], [5]])), RankCounts(*np.array([[0], [1], [4]])))
    >>> total = first + second
    >>> int(total.greater[0]), int(total.tied[0]), int(total.candidates[0])
    (2, 2, 8)
    """

    greater: IntArray
    """int64[answer], candidates that score strictly above the answer"""
    tied: IntArray
    """int64[answer], candidates that score exactly the same"""
    candidates: IntArray
    """int64[answer], candidates and the answer itself: the N of the adjusted metrics"""

    def _brief(self) -> str:
        return counted(len(self.greater), "answer")

    @classmethod
    def of(cls, table: pa.Table, prefix: str = "") -> RankCounts:
        """Take the three columns of a rank table whose names begin with ``prefix``."""
        return cls(*(table[prefix + name].to_numpy() for name in ("greater", "tied", "candidates")))

    @classmethod
    def concatenated(cls, parts: Sequence[RankCounts]) -> RankCounts:
        """Concatenate the counts of different answers."""
        return cls(*map(np.concatenate, zip(*(part.columns for part in parts), strict=True)))

    @property
    def columns(self) -> tuple[IntArray, IntArray, IntArray]:
        """The three counts: greater, tied and candidates."""
        return self.greater, self.tied, self.candidates

    def take(self, answers: IntArray) -> RankCounts:
        """Take the counts of some answers, in another order."""
        return RankCounts(*(column[answers] for column in self.columns))

    def __add__(self, other: RankCounts) -> RankCounts:
        return RankCounts(self.greater + other.greater, self.tied + other.tied, self.candidates + other.candidates - 1)

    @property
    def impossible(self) -> BoolArray:
        """Whether the three counts of an answer contradict each other; bool[answer]."""
        beaten = self.candidates - self.tied
        return np.asarray((self.greater < 0) | (self.tied < 0) | (self.candidates < 1) | (self.greater >= beaten))


def concatenated(parts: Sequence[Ranked]) -> Ranked:
    """Concatenate the counts of several blocks of queries."""
    scores = np.concatenate([part.scores for part in parts])
    filtered, raw = (RankCounts.concatenated([getattr(part, name) for part in parts]) for name in ("filtered", "raw"))
    some = any(part.nan is not None for part in parts)
    nan = np.concatenate([part.with_nan().nan for part in parts]) if some else None
    second = [part.second for part in parts if part.second is not None]
    return Ranked(scores, filtered, raw, nan, RankCounts.concatenated(second) if second else None)


def rank_last(task: RankingTask) -> Ranked:
    """Rank answers that cannot be scored behind all of their candidates."""
    nothing = np.zeros(task.queries.num_answers, np.int64)
    sizes = task.filtered_candidates, task.raw_candidates
    filtered, raw = (RankCounts(size - 1, nothing, size) for size in sizes)
    return Ranked(np.full(len(nothing), -np.inf), filtered, raw)
