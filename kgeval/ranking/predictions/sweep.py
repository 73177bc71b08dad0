"""The sweep over the shared candidates of queries, block by block, with the kernels and the memory of a ranking."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from kgeval.arrays import BoolArray, Float64Array
from kgeval.data.rows import Rows
from kgeval.ranking.engine import Engine, fetch_entity_vectors, fetch_query_vectors, first_undefined
from kgeval.ranking.kernels.collectors import BestAnswers
from kgeval.ranking.kernels.kernel import TensorKernel
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.plan import Plan
from kgeval.ranking.ranking_task import RankingTask
from kgeval.scorers.adapters.score_arrays import as_float64
from kgeval.scorers.numerics.similarity import LANES
from kgeval.scorers.scorer import Scorer, VectorScorer, refuse_vector_widths, views_of
from kgeval.threads import slices

if TYPE_CHECKING:
    from kgeval.ranking.kernels.log_sums import LogSums


class SweepResult(Protocol):
    """What a sweep finds of some queries."""

    @property
    def undefined(self) -> BoolArray:
        """Whether a candidate's score was NaN; bool[query]."""
        ...


F = TypeVar("F", bound=SweepResult)


@dataclass(frozen=True)
class CandidateSweep(ABC, Generic[F]):
    """Meets every candidate of every query once; what becomes of them is its subclasses' to say."""

    takes_nan: ClassVar[bool] = False
    """whether it takes NaN among the scores of vectors for the worst, where that is the policy"""

    engine: Engine

    @property
    def num_kept(self) -> int:
        """How many numbers are kept of each query."""
        return 1

    @abstractmethod
    def begin(self, known: Rows) -> F:
        """Begin with some queries, whose known answers are at these positions."""

    @abstractmethod
    def meet_vectors(self, queries: QueryVectors, entities: EntityVectors, first: int, found: F) -> None:
        """Meet a chunk of candidates by their vectors, the first of which has position ``first``."""

    @abstractmethod
    def meet_scores(self, scores: Float64Array, found: F) -> None:
        """Meet all candidates by their finished scores, float64[query, candidate]."""

    def meet_tensor(self, kernel: TensorKernel, scores: Any, found: F) -> None:
        """Meet all candidates by their finished scores, a tensor [query, candidate]; unless said otherwise, copied."""
        self.meet_scores(np.ascontiguousarray(as_float64(scores, "the scorer")), found)

    def sweep(self, scorer: Scorer | VectorScorer, task: RankingTask) -> list[F]:
        """Meet the candidates of some queries, which share them; the parts are in the order of the queries."""
        views = views_of(scorer, task.queries)
        return [self.begin(task.known[:0]), *(f for part, view in views for f in self._sweep_view(view, task[part]))]

    def _sweep_view(self, scorer: Scorer | VectorScorer, task: RankingTask) -> Iterator[F]:
        """Meet the candidates of queries that share their entity vectors, block by block."""
        engine, ids = self.engine, task.candidates.ids_of(0)
        plan = Plan(engine.memory, engine.batch_size)
        if isinstance(scorer, VectorScorer) and (engine.nan == "error" or self.takes_nan):
            dim = int(np.shape(scorer.entity_vectors(task.queries.side, ids[:1]))[-1])
            blocks = plan.by_vectors(dim, task, places=self.num_kept)
            meet = partial(self._meet_vectors, scorer, step=plan.chunk(dim, engine.device_memory))
        else:
            # Canonical scores of whole blocks are summed in lanes, each as large as the block.
            lanes = 3 * LANES if isinstance(scorer, VectorScorer) else 1
            blocks, meet = (
                Plan(min(engine.memory, engine.device_memory or engine.memory) // lanes, engine.batch_size).by_scores(
                    task
                ),
                partial(self._meet_scores, scorer),
            )
        for block in blocks:
            part = task[block]
            found = self.begin(part.known)
            meet(part, found)
            if found.undefined.any():
                raise first_undefined(scorer, part, found.undefined)
            yield found

    def _meet_vectors(self, scorer: VectorScorer, task: RankingTask, found: F, step: int) -> None:
        """Meet candidates by vectors, ``step`` at a time."""
        queries, ids = task.queries, task.candidates.ids_of(0)
        query_vectors = fetch_query_vectors(scorer, queries)
        for chunk in slices(len(ids), step):
            entity_vectors = fetch_entity_vectors(scorer, queries.side, ids[chunk])
            refuse_vector_widths(query_vectors.vectors, entity_vectors.vectors)
            self.meet_vectors(query_vectors, entity_vectors, chunk.start, found)
            self.engine.progress(len(queries) * chunk.stop // len(ids) - len(queries) * chunk.start // len(ids))

    def _meet_scores(self, scorer: Scorer | VectorScorer, task: RankingTask, found: F) -> None:
        engine, queries, ids = self.engine, task.queries, task.candidates.ids_of(0)
        kernel = engine.kernel
        if (
            isinstance(kernel, TensorKernel)
            and (tensor := engine.tensor_scores(kernel, scorer, queries, ids)) is not None
        ):
            self.meet_tensor(kernel, tensor, found)
        else:
            self.meet_scores(engine.finished_scores(scorer, queries, ids), found)
        self.engine.progress(len(task.queries))


@dataclass(frozen=True)
class AnswerSearch(CandidateSweep[BestAnswers]):
    """Searches the shared candidates of queries for the best."""

    takes_nan: ClassVar[bool] = True

    places: int
    """how many are wanted of each query"""
    drops_known: bool
    """whether known answers are left out"""

    @property
    def num_kept(self) -> int:
        return self.places

    def begin(self, known: Rows) -> BestAnswers:
        nan_last = self.engine.nan == "worst"
        return BestAnswers.none(known, self.places, drops_known=self.drops_known, nan_last=nan_last)

    def meet_vectors(self, queries: QueryVectors, entities: EntityVectors, first: int, found: BestAnswers) -> None:
        self.engine.kernel.select_shared(queries, entities, first, found)

    def meet_scores(self, scores: Float64Array, found: BestAnswers) -> None:
        self.engine.kernel.select_scores(scores, found)

    def meet_tensor(self, kernel: TensorKernel, scores: Any, found: BestAnswers) -> None:
        kernel.select_tensor(scores, found)

    def search(self, scorer: Scorer | VectorScorer, task: RankingTask) -> BestAnswers:
        """Find the best answers of some queries; errors are those of a sweep."""
        return BestAnswers.concatenated(self.sweep(scorer, task))


@dataclass(frozen=True)
class LogSumSweep(CandidateSweep["LogSums"]):
    """Adds up the exponentials of all candidates' scores but those of known answers."""

    def begin(self, known: Rows) -> LogSums:
        from kgeval.ranking.kernels.log_sums import LogSums

        return LogSums.empty(known)

    def meet_vectors(self, queries: QueryVectors, entities: EntityVectors, first: int, found: LogSums) -> None:
        found.add_shared(queries, entities, first)

    def meet_scores(self, scores: Float64Array, found: LogSums) -> None:
        found.add_scores(scores)

    def log_sums(self, scorer: Scorer | VectorScorer, task: RankingTask) -> Float64Array:
        """Add up some queries' candidates; float64[query]. Errors are those of a sweep."""
        return np.concatenate([part.values for part in self.sweep(scorer, task)])
