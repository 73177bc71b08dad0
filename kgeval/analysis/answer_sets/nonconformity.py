"""Nonconformity: how badly a candidate of a scored split fits its query, in numbers that compare over queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import MetricError, refuse_unknown
from kgeval.base.threads import slices
from kgeval.data.dataset import Dataset
from kgeval.data.known import KnownAnswers, known_triples
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.models.aligned import Aligned
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.engine import Engine
from kgeval.ranking.kernels.collectors import BestAnswers
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.tie_rules import tied_under

BYTES_A_PLACE = 64
"""that a prediction takes while it is found and looked through"""


@dataclass(frozen=True, eq=False)
class SideTask:
    """The queries of one side, and the rows of the rank table that their answers have."""

    task: RankingTask
    rows: IntArray
    """int64[answer]"""

    def where(self, keep: BoolArray) -> SideTask:
        """Keep the queries for which ``keep`` (bool[query]) holds."""
        return SideTask(self.task.where(keep), self.rows[keep[self.task.queries.owners]])

    @property
    def is_known(self) -> BoolArray:
        """Whether each answer is a known one, which the filter takes out of its query's candidates; bool[answer]."""
        return np.asarray(self.task.known.positions(self.task.queries.owners, self.task.answers) >= 0)


@dataclass(frozen=True, eq=False)
class ScoredSplit:
    """The candidates of a row are all entities that the model knows, without known answers, and the row's answer.

    The *others* of a row are these candidates; where the answer is a known one, it is not among them. So all answers of
    a query have the same others.
    """

    scorer: Aligned
    dataset: Dataset
    engine: Engine
    ranks: RankTable
    sides: tuple[SideTask, ...]

    @classmethod
    def of(cls, scorer: Aligned, dataset: Dataset, engine: Engine, ranks: RankTable) -> ScoredSplit:
        sides = ranks.column("side").astype(str)
        names: list[Side] = [side for side in ("head", "tail") if (sides == side).any()]
        rows = {side: np.flatnonzero(sides == side) for side in names}
        tasks = (task for side in names for task in _side_tasks(scorer, dataset, ranks, side, rows[side]))
        return cls(scorer, dataset, engine, ranks, tuple(tasks))

    @property
    def scores(self) -> Float64Array:
        """The score of each answer; float64[row]."""
        return self.ranks.column("score")

    @property
    def answer_is_known(self) -> BoolArray:
        """Whether each answer is a known one; bool[row]."""
        return np.asarray(self._by_row(lambda side: side.is_known), np.bool_)

    @property
    def best_others(self) -> Float64Array:
        """The highest score among the others; float64[row], −∞ where there is none."""

        def best(side: SideTask) -> Float64Array:
            found = self.engine.best(self.scorer, side.task, 1, drops_known=True)
            return np.asarray(found.scores[side.task.queries.owners, 0])

        return self._by_row(best)

    @property
    def log_sums_of_others(self) -> Float64Array:
        """The logarithm of the sum of the exponentials of the others' scores; float64[row]."""
        return self._by_row(lambda side: self.engine.log_sums(self.scorer, side.task)[side.task.queries.owners])

    def count_from(self, lowest: Float64Array) -> IntArray:
        """Count the candidates that score at least ``lowest`` (float64[row]); int64[row]."""

        def count(side: SideTask) -> Float64Array:
            counts = self.engine.rank(self.scorer, side.task.counted_from(lowest[side.rows])).filtered
            itself = side.is_known & (self.scores[side.rows] >= lowest[side.rows])
            return np.asarray(counts.greater + counts.tied + itself, np.float64)

        return self._by_row(count).astype(np.int64)

    def best(self, places: IntArray) -> Iterator[tuple[SideTask, BestAnswers]]:
        """Find the best others: of a query as many as its rows want at most (int64[row]), or some more.

        Queries that want about as many are searched together, as many as the memory holds.
        """
        for side in self.sides:
            wanted = np.zeros(len(side.task.queries), np.int64)
            np.maximum.at(wanted, side.task.queries.owners, places[side.rows])
            powers = np.ceil(np.log2(np.maximum(wanted, 1))).astype(np.int64)
            for power in np.unique(powers[wanted > 0]).tolist():
                alike = np.flatnonzero((powers == power) & (wanted > 0))
                most = int(wanted[alike].max())
                for block in slices(len(alike), max(1, self.engine.memory // (most * BYTES_A_PLACE))):
                    part = side.where(np.isin(np.arange(len(wanted)), alike[block]))
                    yield part, self.engine.best(self.scorer, part.task, most, drops_known=True)

    def _by_row(self, compute: Callable[[SideTask], Float64Array | BoolArray]) -> Float64Array:
        """Put what is computed of each side's answers into the order of the rows; float64[row]."""
        values = np.empty(len(self.ranks))
        for side in self.sides:
            values[side.rows] = compute(side)
        return values


def _side_tasks(scorer: Aligned, dataset: Dataset, ranks: RankTable, side: Side, rows: IntArray) -> Iterator[SideTask]:
    """Collect the queries of a side's rows, those together whose answers are sought among the same entities."""
    triples = dataset.split(ranks.split)[ranks.column("triple")[rows]]
    known = KnownAnswers.of(known_triples(dataset, ranks.filter or (), ranks.times), side)
    for part, entities in scorer.groups(side, triples.relations):
        queries = (Queries.per_triple if scorer.asks_by_triple else Queries.of)(triples[part], side)
        candidates = Candidates.shared(np.flatnonzero(entities))
        yield SideTask(RankingTask.of(queries, candidates, known.rows(queries)), rows[part][queries.triples])


@dataclass(frozen=True, eq=False)
class BelowReference:
    """How far a score s is below a reference of its row: V = reference − s."""

    scores: Float64Array
    """float64[row], of the answers"""
    references: Float64Array
    """float64[row]"""

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


def pessimistic_ranks(ranks: RankTable) -> Float64Array:
    """Take the pessimistic ranks of a table, 1 + greater + tied; float64[row].

    All ties are counted, so that a set of rank r has at most r entities; ties beyond the last are left out.
    """
    return np.asarray(1.0 + ranks.column("greater") + ranks.column("tied"))


@dataclass(frozen=True, eq=False)
class PessimisticRanks:
    split: ScoredSplit

    @property
    def values(self) -> Float64Array:
        return pessimistic_ranks(self.split.ranks)

    def lowest_scores(self, limits: Float64Array) -> Float64Array:
        candidates = self.split.ranks.column("candidates")
        lowest = np.where(limits >= candidates, -np.inf, np.inf)
        searched = (limits >= 1) & (limits < candidates)
        # One place more than the limit is searched, so that a tie across the limit is found as well.
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


@dataclass(frozen=True)
class Nonconformity:
    """A nonconformity: its name, its formula, and how a split is measured by it.

    The set of a row has the candidates whose nonconformity is at most the row's limit. A higher score never makes it
    larger, so these are the candidates from some score on: candidates that tie are in it together, or not.
    """

    name: str
    formula: str
    """of a score s"""
    measure: Callable[[ScoredSplit], BelowReference | PessimisticRanks]


def measure_by_softmax(split: ScoredSplit) -> BelowReference:
    """Compare scores with the log-sum of each row's candidates.

    1 − p, with p = exp(s) / Σ exp, is the nonconformity of Sadinle, Lei and Wasserman (2019), which Zhu et al. (2025)
    take for the answers of knowledge graphs. −log p = log Σ exp − s grows as it does, so the sets are the same, and it
    does not underflow.
    """
    others = split.log_sums_of_others
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
