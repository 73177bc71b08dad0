"""The search for the best answers of queries among all of their candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kgeval.arrays import Float64Array
from kgeval.data.rows import Rows
from kgeval.ranking.kernels.best_answers import BestAnswers
from kgeval.ranking.kernels.kernel import TensorKernel
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.predictions.candidate_sweep import CandidateSweep
from kgeval.ranking.ranking_task import RankingTask
from kgeval.scorers.scorer import Scorer, VectorScorer


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
        """How many are kept of each query."""
        return self.places

    def begin(self, known: Rows) -> BestAnswers:
        """Begin with none."""
        nan_last = self.engine.nan == "worst"
        return BestAnswers.none(known, self.places, drops_known=self.drops_known, nan_last=nan_last)

    def meet_vectors(self, queries: QueryVectors, entities: EntityVectors, first: int, found: BestAnswers) -> None:
        """Merge a chunk of candidates into the best."""
        self.engine.kernel.select_shared(queries, entities, first, found)

    def meet_scores(self, scores: Float64Array, found: BestAnswers) -> None:
        """Merge finished scores into the best."""
        self.engine.kernel.select_scores(scores, found)

    def meet_tensor(self, kernel: TensorKernel, scores: Any, found: BestAnswers) -> None:
        """Merge finished scores into the best, where they are."""
        kernel.select_tensor(scores, found)

    def search(self, scorer: Scorer | VectorScorer, task: RankingTask) -> BestAnswers:
        """Find the best answers of some queries; errors are those of a sweep."""
        return BestAnswers.concatenated(self.sweep(scorer, task))
