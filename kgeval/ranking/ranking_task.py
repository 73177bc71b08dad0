"""A ranking task: queries, their candidates, and where answers and known answers stand; its blocks and its counts.

Block sizes say how many queries and candidates are held at a time. They change the speed, never a count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import counted
from kgeval.base.tables.shown import Brief
from kgeval.base.threads import threads
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
            places = np.arange(len(rows.ids)) - rows.offsets[rows.owners]  # of ids that a row may repeat
            known = Rows(rows.offsets, places).where(_among(rows, others.owners, others.ids))
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
        return self.raw_candidates - self.known.lengths[self.queries.owners] + self.is_known

    @cached_property
    def is_known(self) -> BoolArray:
        """Whether each answer is among the known ones; bool[answer]."""
        return self.known.positions(self.queries.owners, self.answers) >= 0


def _among(rows: Rows, owners: IntArray, ids: IntArray) -> BoolArray:
    """Whether each id in the rows belongs to its owner; bool[id in rows]."""
    size = 1 + max(rows.ids.max(initial=0), ids.max(initial=0))
    return np.isin(rows.owners * size + rows.ids, owners * size + ids)


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
        names = ("greater", "tied", "candidates")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @property
    def columns(self) -> tuple[IntArray, IntArray, IntArray]:
        return self.greater, self.tied, self.candidates

    def take(self, answers: IntArray) -> RankCounts:
        """Take the counts of some answers, in another order."""
        return RankCounts(*(column[answers] for column in self.columns))

    def __add__(self, other: RankCounts) -> RankCounts:
        return RankCounts(self.greater + other.greater, self.tied + other.tied, self.candidates + other.candidates - 1)

    def __sub__(self, other: RankCounts) -> RankCounts:
        return RankCounts(self.greater - other.greater, self.tied - other.tied, self.candidates - other.candidates + 1)

    @property
    def impossible(self) -> BoolArray:
        """Whether no candidates can be counted so; bool[answer]."""
        beaten = self.candidates - self.tied
        return np.asarray((self.greater < 0) | (self.tied < 0) | (self.candidates < 1) | (self.greater >= beaten))


class Ranked(NamedTuple):
    """The counts of the answers of a ranking task."""

    scores: Float64Array
    """float64[answer], the score of each answer"""
    filtered: RankCounts
    raw: RankCounts
    nan: IntArray | None = None
    """int64[answer, 2], where NaN is the worst: how many of its other candidates' scores were NaN, and of its own"""

    def take(self, answers: IntArray) -> Ranked:
        """Take some answers, in another order."""
        nan = None if self.nan is None else self.nan[answers]
        return Ranked(self.scores[answers], self.filtered.take(answers), self.raw.take(answers), nan)

    def with_nan(self) -> Ranked:
        """Count no NaN where none was looked for."""
        return self if self.nan is not None else self._replace(nan=np.zeros((len(self.scores), 2), np.int64))


def concatenated(parts: Sequence[Ranked]) -> Ranked:
    """Concatenate the counts of several blocks of queries."""
    scores = np.concatenate([part.scores for part in parts])
    filtered, raw = (RankCounts.concatenated([getattr(part, name) for part in parts]) for name in ("filtered", "raw"))
    some = any(part.nan is not None for part in parts)
    return Ranked(scores, filtered, raw, np.concatenate([part.with_nan().nan for part in parts]) if some else None)


MEMORY_DIVISOR = 4
"""an evaluation takes one part in so many of the free memory, where no limit is set"""

CHUNK = 16384
"""candidates held at a time: more of them would not stay in a processor's cache"""

BLOCK = 256
"""queries whose scores are held at a time, for the same reason"""

BYTES_PER_ID = 96
"""of an id in a ranking task: a candidate, a known answer or an answer, and the arrays that find it among others"""

BYTES_PER_SCORE = 32
"""of a finished score: in the scorer's precision and in float64, with the ids of its triple"""

MOST_SCORED = 4096
"""queries that finished scores are asked for at a time"""


@dataclass(frozen=True)
class Plan:
    """How much memory the blocks of a ranking may take."""

    memory: int
    batch_size: int | None = None
    """queries whose finished scores are held at a time; by default as many as fit"""

    def tasks(self, ids: IntArray) -> Iterator[slice]:
        """Cut queries where ranking tasks of so many ids (int64[query]) fit into half of the memory."""
        return cut(BYTES_PER_ID * (1 + ids), self.memory // 2)

    def chunk(self, dim: int, device_memory: int | None = None) -> int:
        """Return how many shared candidates fit with their vectors and their scores, of a block for each thread.

        Where a device counts, its own memory bounds them too: half of it, in their own precision and in low.
        """
        scores = 6 * (self.batch_size or BLOCK) * max(threads(), 2)
        most = CHUNK if device_memory is None else max(1, device_memory // 2 // (16 * dim + 128))
        return min(self._fit(32 * dim + scores), most)

    def by_vectors(self, dim: int, task: RankingTask, *, places: int = 0) -> Iterator[slice]:
        """Cut queries whose vectors, in float64, in low precision and while they are made, fit into half of the memory.

        With them go the vectors of their answers, so many places for the best of each, and their own candidates: with
        the vectors of each, or with those of all entities if that makes fewer blocks.
        """
        costs = 64 * dim + 2048 + 64 * places + (8 * dim + 1024) * np.diff(task.queries.offsets)
        if task.candidates.is_shared:
            return cut(costs, self.memory // 2)
        num_candidates, largest = task.num_candidates, int(task.candidates.rows.ids.max(initial=0))
        alone, together = costs + (64 + 16 * dim) * num_candidates, costs + 64 * num_candidates
        left = self.memory // 2 - (16 * dim + 16) * (largest + 1)
        if left > together.max(initial=0) and together.sum() / left <= alone.sum() / (self.memory // 2):
            return cut(together, left)
        return cut(alone, self.memory // 2)

    def by_scores(self, task: RankingTask) -> Iterator[slice]:
        """Cut queries where a table of the scores of their candidates, and of answers that are none, fits."""
        further = np.bincount(task.queries.owners[task.answers < 0], minlength=len(task.queries))
        shared = task.candidates.shared_ids
        if shared is not None:
            return self._cut_table(further, lambda further: len(shared) + np.cumsum(further))
        return self._cut_table(task.num_candidates + np.diff(task.queries.offsets), np.maximum.accumulate)

    def _cut_table(self, cells: IntArray, columns: Callable[[IntArray], IntArray]) -> Iterator[slice]:
        """Cut rows where tables fit, whose columns are a function of the cells that each row needs."""
        start, most = 0, min(self.batch_size or MOST_SCORED, MOST_SCORED)
        while start < len(cells):
            part = cells[start : start + most]
            sizes = np.arange(1, len(part) + 1) * columns(part) * BYTES_PER_SCORE
            stop = start + max(1, int(np.searchsorted(sizes, self.memory // 2, "right")))
            yield slice(start, stop)
            start = stop

    def _fit(self, each: int) -> int:
        """How many fit into half of the memory: there is room for one kind and for another."""
        return max(1, self.memory // 2 // each)


def cut(costs: IntArray, budget: int) -> Iterator[slice]:
    """Cut a range into blocks whose costs fit into a budget; an item that alone exceeds it is a single block.

    >>> [(part.start, part.stop) for part in cut(np.array([3, 3, 3, 9, 1]), 6)]
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    """
    ends, start = np.cumsum(costs), 0
    while start < len(ends):
        before = ends[start] - costs[start]
        stop = max(start + 1, int(np.searchsorted(ends, before + budget, "right")))
        yield slice(start, stop)
        start = stop


Precision = Literal["bfloat16", "float32"]
