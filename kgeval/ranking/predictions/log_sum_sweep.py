"""The log-sums of queries: log Σ exp(s) over all candidates, which turns a score into its softmax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.data.rows import Rows
from kgeval.ranking.kernels.log_sums import LogSums
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.predictions.candidate_sweep import CandidateSweep
from kgeval.ranking.ranking_task import RankingTask
from kgeval.scorers.scorer import Scorer, VectorScorer


@dataclass(frozen=True)
class LogSumSweep(CandidateSweep[LogSums]):
    """Adds up the exponentials of all candidates' scores but those of known answers."""

    def begin(self, known: Rows) -> LogSums:
        """Begin with none."""
        return LogSums.empty(known)

    def meet_vectors(self, queries: QueryVectors, entities: EntityVectors, first: int, found: LogSums) -> None:
        """Add a chunk of candidates."""
        found.add_shared(queries, entities, first)

    def meet_scores(self, scores: Float64Array, found: LogSums) -> None:
        """Add finished scores."""
        found.add_scores(scores)

    def log_sums(self, scorer: Scorer | VectorScorer, task: RankingTask) -> Float64Array:
        """Add up some queries' candidates; float64[query]. Errors are those of a sweep."""
        return np.concatenate([part.values for part in self.sweep(scorer, task)])
