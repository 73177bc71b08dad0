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
"""the memory of one listed candidate while it is found and looked through, in bytes"""


@dataclass(frozen=True, eq=False)
class ScoredSplit:
    """A split with its ranks, and the engine that searches its candidates again.

    The candidates of a row are all entities that the model knows, without known answers, and the row's answer.

    The *others* of a row are these candidates, less the row's own answer if the filter counts it as a known answer. So
    all answers of a query have the same others.
    """

    scorer: Aligned
    dataset: Dataset
    engine: Engine
    ranks: RankTable
    sides: tuple[SideTask, ...]
    """the queries of each side, and within it of each group of relations with the same candidates"""

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
        """Find the best others of each query: at least as many as ``places`` (int64[row]) wants for any of its rows.

        Queries that want similar numbers are searched together, in blocks that fit into memory.
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
        """Compute a value for each answer, side task by side task, and sort the values by row; float64[row]."""
        values = np.empty(len(self.ranks))
        for side in self.sides:
            values[side.rows] = compute(side)
        return values


@dataclass(frozen=True, eq=False)
class SideTask:
    """Queries of one side, head or tail, as a ranking task, and the rows of their answers in the rank table."""

    task: RankingTask
    rows: IntArray
    """the row of each answer in the rank table; int64[answer]"""

    def where(self, keep: BoolArray) -> SideTask:
        """Keep the queries for which ``keep`` (bool[query]) holds."""
        return SideTask(self.task.where(keep), self.rows[keep[self.task.queries.owners]])

    @property
    def is_known(self) -> BoolArray:
        """Whether the filter has each answer as a known answer, and removes it from the others; bool[answer]."""
        return np.asarray(self.task.known.positions(self.task.queries.owners, self.task.answers) >= 0)


def _side_tasks(scorer: Aligned, dataset: Dataset, ranks: RankTable, side: Side, rows: IntArray) -> Iterator[SideTask]:
    """Make the tasks of a side's rows: one for each group of relations whose answers have the same candidates."""
    triples = dataset.split(ranks.split)[ranks.column("triple")[rows]]
    known = KnownAnswers.of(known_triples(dataset, ranks.filter or (), ranks.times), side)
    for part, entities in scorer.groups(side, triples.relations):
        queries = (Queries.per_triple if scorer.asks_by_triple else Queries.of)(triples[part], side)
        candidates = Candidates.shared(np.flatnonzero(entities))
        yield SideTask(RankingTask.of(queries, candidates, known.rows(queries)), rows[part][queries.triples])
