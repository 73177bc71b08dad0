"""Nonconformity: how badly a candidate of a scored split fits its query, in numbers that compare over queries.

Conformal limits: how nonconforming an answer may be and still be in its set, from those of validation.

Split conformal prediction (Vovk et al., 2005; Angelopoulos and Bates, 2023): of n exchangeable values V and a new one,
P(V_new ≤ q) ≥ c where q is the ⌈(n + 1) c⌉-th smallest of the n, and infinite where that is more than n. The + 1 counts
the new value. A triple that is predicted on both sides is one draw with two values, so there it adds 2 (pooling of
groups; Lee, Barber and Willett, 2023). Calibrated by relation (Mondrian; Vovk et al., 2005), each has its own q.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import MetricError, refuse_unknown
from kgeval.base.progress import unreported
from kgeval.base.threads import slices
from kgeval.data.dataset import Dataset
from kgeval.data.known import KnownAnswers, known_triples
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.metrics.rank_summary import group_rows
from kgeval.models.aligned import Aligned
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.engine import Engine
from kgeval.ranking.kernels.collectors import BestAnswers
from kgeval.ranking.model_ranking import ModelRanking
from kgeval.ranking.rank_table import SCHEMA, RankTable
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.rules import tied_under

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
    def of(cls, ranking: ModelRanking) -> ScoredSplit:
        """Rank a split, and prepare further searches by the same engine, whose progress is not reported."""
        scorer, dataset, ranks = ranking.scorer, ranking.dataset, ranking.rank()
        engine = replace(ranking.engine, progress=unreported)
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
        return np.asarray(self.by_row(lambda side: side.is_known), np.bool_)

    @property
    def best_others(self) -> Float64Array:
        """The highest score among the others; float64[row], −∞ where there is none."""

        def best(side: SideTask) -> Float64Array:
            highest = self.engine.best(self.scorer, side.task, 1, drops_known=True)
            return np.asarray(highest.scores[side.task.queries.owners, 0])

        return self.by_row(best)

    def count_from(self, lowest: Float64Array) -> IntArray:
        """Count the candidates that score at least ``lowest`` (float64[row]); int64[row]."""

        def count(side: SideTask) -> Float64Array:
            counts = self.engine.rank(self.scorer, side.task.counted_from(lowest[side.rows])).filtered
            itself = side.is_known & (self.scores[side.rows] >= lowest[side.rows])
            return np.asarray(counts.greater + counts.tied + itself, np.float64)

        return self.by_row(count).astype(np.int64)

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

    def by_row(self, compute: Callable[[SideTask], Float64Array | BoolArray]) -> Float64Array:
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
            listed = _lowest_listed(side, best, scores, limits)[searched[side.rows]]
            lowest[rows] = np.where(values[rows] <= limits[rows], np.minimum(listed, scores[rows]), listed)
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


COLUMNS = ("relation", "side")
"""by which answers may be calibrated: what a query says before its answer is known"""


@dataclass(frozen=True)
class Limit:
    """The limit of some rows."""

    key: dict[str, Any]
    """the values that they have in common; empty for all rows, and for those that are pooled"""
    limit: float
    """the largest nonconformity that is let in; infinite where there are too few values"""
    valid: int
    """how many values of validation it is of"""
    test: int
    """how many rows of test it is for"""
    pooled: int = 0
    """how many groups with too few values of their own share it"""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; a limit that is infinite is None."""
        return {**asdict(self), "limit": self.limit if math.isfinite(self.limit) else None}


@dataclass(frozen=True, eq=False)
class CalibratedLimits:
    of_rows: Float64Array
    """float64[row of test]"""
    of_groups: tuple[Limit, ...]


def place_of_limit(count: int, coverage: float, *, values_per_draw: int = 1) -> int:
    """Compute which of ``count`` ascending values is the limit, from 1; above ``count``, none is large enough.

    The coverage is taken as the decimal that it is written as: 0.55 of 20 are 11, not the 12 of its rounding.

    >>> place_of_limit(9, 0.9), place_of_limit(8, 0.9), place_of_limit(19, 0.55)
    (9, 9, 11)
    """
    return math.ceil(Fraction(str(float(coverage))) * (count + values_per_draw))


def conformal_limits(
    values: Float64Array, groups: IntArray, count: int, *, coverage: float, values_per_draw: int = 1
) -> Float64Array:
    """Compute the limit of each group, infinite where it has too few values; float64[group].

    ``values`` (float64[value]) are the nonconformities of validation, ``groups`` (int64[value]) their groups from 0, of
    which there are ``count``; ``coverage`` is the probability with which the next answer is within the limit.

    Of nine values, the ninth; of eight, none is large enough for 90 %.

    >>> conformal_limits(np.arange(17.0), np.r_[np.zeros(9, int), np.ones(8, int)], 2, coverage=0.9)
    array([ 8., inf])
    """
    order = np.lexsort((values, groups))
    sizes = np.bincount(groups, minlength=count)
    # A Python loop over groups, of whole numbers that are exact.
    places = np.array([place_of_limit(n, coverage, values_per_draw=values_per_draw) for n in sizes.tolist()], np.int64)
    ends = np.cumsum(sizes)
    chosen = np.minimum(ends - sizes + places, ends) - 1
    padded = np.append(values[order], np.inf)  # looked up by a last group without values, though never taken
    return np.where(places <= sizes, padded[chosen], np.inf)


def limits_of(
    valid: RankTable, values: Float64Array, test: RankTable, *, coverage: float, per: Sequence[str] = ()
) -> CalibratedLimits:
    """Calibrate the rows of a test table by the values (float64[row]) of the validation table's.

    Groups in which no limit is finite are pooled, and calibrated together.
    """
    values_per_draw = 1 if "side" in per else len(np.unique(valid.column("side").astype(str)))
    keys, (of_valid, of_test) = _numbered(valid, test, tuple(per))
    group_limits = conformal_limits(values, of_valid, len(keys), coverage=coverage, values_per_draw=values_per_draw)
    few = np.isinf(group_limits) & (len(keys) > 1)
    pooled = values[few[of_valid]]
    one_group = np.zeros(len(pooled), np.int64)
    pool = conformal_limits(pooled, one_group, 1, coverage=coverage, values_per_draw=values_per_draw)
    limits = np.where(few, pool[0], group_limits)
    sizes = [np.bincount(of_rows, minlength=len(keys)) for of_rows in (of_valid, of_test)]
    groups = [
        Limit(keys[group], float(limits[group]), int(sizes[0][group]), int(sizes[1][group]))
        for group in np.flatnonzero(~few).tolist()
    ]
    if few.any():
        groups.append(Limit({}, float(pool[0]), int(sizes[0][few].sum()), int(sizes[1][few].sum()), int(few.sum())))
    return CalibratedLimits(limits[of_test], tuple(groups))


def _numbered(
    valid: RankTable, test: RankTable, per: tuple[str, ...]
) -> tuple[list[dict[str, Any]], tuple[IntArray, IntArray]]:
    """Number the groups of two tables' rows by columns: their keys by label, and the group of each row, int64[row]."""
    both = pa.concat_tables([table.data.select(SCHEMA.names) for table in (valid, test)])
    grouping, numbers = group_rows(replace(test, data=both), per), np.empty(len(both), np.int64)
    numbers[grouping.rows] = grouping.group_ids
    return grouping.keys, (numbers[: len(valid)], numbers[len(valid) :])


def notes_on_filter(test: RankTable) -> Iterator[str]:
    """Warn if the filter treats validation and test differently: then coverage is not guaranteed."""
    if test.filter is not None and ("valid" in test.filter) != ("test" in test.filter):
        yield (
            f"coverage is not guaranteed: the filter has {', '.join(test.filter)}, so it removes different answers "
            "from validation and test queries. Filter by valid and test, or by neither."
        )


def notes_on_limits(limits: CalibratedLimits, per: tuple[str, ...], coverage: float) -> Iterator[str]:
    columns = " and ".join(per)
    for group in limits.of_groups:
        if group.pooled:
            yield (
                f"{group.pooled} of {group.pooled + len(limits.of_groups) - 1} groups by {columns} have too few "
                f"validation triples for a coverage of {coverage:g}. They were calibrated together: {group.valid} "
                f"validation ranks, {group.test} test ranks."
            )
        if group.limit == float("inf"):
            yield (
                f"the answer sets of {group.test} test ranks contain all candidates. Either {group.valid} validation "
                f"ranks are too few for a coverage of {coverage:g}, or the answers of too many of them have an "
                "infinite nonconformity."
            )
