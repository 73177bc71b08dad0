"""A ranked split whose candidates can be searched again: the best of each query, or how many score at least s.

``answers.py`` makes one of validation and one of test; nonconformities and the lists of answer sets are computed from
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.progress import unreported
from kgeval.base.threads import slices
from kgeval.data.dataset import Dataset
from kgeval.data.known import KnownAnswers, known_triples
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.models.aligned import Aligned
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.engine import Engine
from kgeval.ranking.kernels.collectors import BestAnswers
from kgeval.ranking.model_ranking import ModelRanking
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.ranking_task import RankingTask

BYTES_A_PLACE = 64
"""that a prediction takes while it is found and looked through"""


@dataclass(frozen=True, eq=False)
class ScoredSplit:
    """A split with its ranks, and the engine that searches its candidates again.

    The candidates of a row are all entities that the model knows, without known answers, and the row's answer.

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


def _side_tasks(scorer: Aligned, dataset: Dataset, ranks: RankTable, side: Side, rows: IntArray) -> Iterator[SideTask]:
    """Collect the queries of a side's rows, those together whose answers are sought among the same entities."""
    triples = dataset.split(ranks.split)[ranks.column("triple")[rows]]
    known = KnownAnswers.of(known_triples(dataset, ranks.filter or (), ranks.times), side)
    for part, entities in scorer.groups(side, triples.relations):
        queries = (Queries.per_triple if scorer.asks_by_triple else Queries.of)(triples[part], side)
        candidates = Candidates.shared(np.flatnonzero(entities))
        yield SideTask(RankingTask.of(queries, candidates, known.rows(queries)), rows[part][queries.triples])
