"""The search for the best answers of queries, block by block, with the kernels and the memory of a ranking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from kgeval.ranking.engine import Engine, fetch_entity_vectors, fetch_query_vectors, first_undefined
from kgeval.ranking.kernels.best_answers import BestAnswers
from kgeval.ranking.plan import Plan
from kgeval.ranking.ranking_task import RankingTask
from kgeval.scorers.numerics.similarity import LANES
from kgeval.scorers.scorer import Scorer, VectorScorer, refuse_vector_widths, views_of
from kgeval.threads import slices


@dataclass(frozen=True)
class AnswerSearch:
    """Searches the shared candidates of queries for the best."""

    engine: Engine
    places: int
    """how many are wanted of each query"""
    drops_known: bool
    """whether known answers are left out"""

    def search(self, scorer: Scorer | VectorScorer, task: RankingTask) -> BestAnswers:
        """Find the best answers of some queries, whose candidates are shared.

        Raises
        ------
        UndefinedScore
            if a score is NaN and the policy is ``"error"``
        ScoreError
            if the scorer returns an array of another shape, or what is no number
        """
        views = views_of(scorer, task.queries)
        found = [best for part, view in views for best in self._search_view(view, task[part])]
        return BestAnswers.concatenated(
            [BestAnswers.none(task.known[:0], self.places, drops_known=self.drops_known), *found]
        )

    def _search_view(self, scorer: Scorer | VectorScorer, task: RankingTask) -> Iterator[BestAnswers]:
        """Search for queries that share their entity vectors, block by block."""
        engine, ids = self.engine, task.candidates.ids_of(0)
        # NaN can only be replaced in finished scores, so that policy takes vectors to their scores first.
        if isinstance(scorer, VectorScorer) and engine.nan == "error":
            dim = int(np.shape(scorer.entity_vectors(task.queries.side, ids[:1]))[-1])
            plan = Plan.for_shared(dim, engine.memory, places=self.places)
            search = partial(self._search_vectors, scorer, step=plan.candidates)
        else:
            # Canonical scores of whole blocks are summed in lanes, each as large as the block.
            lanes = 3 * LANES if isinstance(scorer, VectorScorer) else 1
            plan = Plan.for_scores(lanes * len(ids) + 2 * self.places, engine.memory, engine.batch_size)
            search = partial(self._search_scores, scorer)
        for block in slices(len(task.queries), plan.queries):
            part = task[block]
            best = BestAnswers.none(part.known, self.places, drops_known=self.drops_known)
            search(part, best)
            if best.undefined.any():
                raise first_undefined(scorer, part, best.undefined)
            yield best

    def _search_vectors(self, scorer: VectorScorer, task: RankingTask, best: BestAnswers, step: int) -> None:
        """Search by vectors, ``step`` candidates at a time."""
        queries, ids = task.queries, task.candidates.ids_of(0)
        query_vectors = fetch_query_vectors(scorer, queries)
        for chunk in slices(len(ids), step):
            entity_vectors = fetch_entity_vectors(scorer, queries.side, ids[chunk])
            refuse_vector_widths(query_vectors.vectors, entity_vectors.vectors)
            self.engine.kernel.select_shared(query_vectors, entity_vectors, chunk.start, best)
            self.engine.progress(len(queries) * chunk.stop // len(ids) - len(queries) * chunk.start // len(ids))

    def _search_scores(self, scorer: Scorer | VectorScorer, task: RankingTask, best: BestAnswers) -> None:
        """Search finished scores."""
        scores = self.engine.finished_scores(scorer, task.queries, task.candidates.ids_of(0))
        self.engine.kernel.select_scores(scores, best)
        self.engine.progress(len(task.queries))
