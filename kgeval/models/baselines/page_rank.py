"""Personalised PageRank: the entities that a random walk from the anchor visits most come first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from kgeval.base.arrays import FloatArray, IntArray
from kgeval.base.threads import parallel_for
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries
from kgeval.models.baselines.baseline import Baseline

BATCH_VISITS = 2**19
"""shares of walks, by anchor and entity, that a thread computes at a time: they stay in its cache"""


class PageRankBaseline(Baseline):
    """Entities near the anchor are ranked first, whatever the relation.

    A random walk on the train graph returns to the anchor with probability 1 − ``damping`` before each step. Edges
    have no direction, and several triples of two entities are one edge. The score of an entity is the share of time
    that the walk spends there, after ``iterations`` steps of the power iteration from the anchor. It is computed in
    float64 and stored in float32, so that entities that differ only by rounding tie. Entities that cannot be reached
    score 0, and so does the anchor, where every walk begins.

    Examples
    --------
    On a path a – b – c – d, walks from a: damping .5, two steps.

    >>> from kgeval import Dataset, Triples, Vocabulary
    >>> train, test = Triples.of([(0, 0, 1), (1, 0, 2), (3, 0, 2)]), Triples.of([(0, 0, 3)])
    >>> names = {"entities": Vocabulary(list("abcd")), "relations": Vocabulary(["near"], "relation")}
    >>> fitted = Baseline("ppr", damping=0.5, iterations=2).fit(Dataset.build("path", {"train": train}, **names))
    >>> fitted.scores(Queries.of(test, "tail"), np.arange(4))
    array([[0.   , 0.25 , 0.125, 0.   ]], dtype=float32)
    """

    title = "ranks entities first that are near the known entity of the query"
    rule = "personalised PageRank from the known entity of the query, on the undirected train graph"
    source = "Page et al., 1999; Shomer et al., 2024"

    baseline: Literal["ppr"] = "ppr"
    """random walks from the anchor over all relations"""
    damping: Annotated[float, Field(gt=0, lt=1)] = 0.85
    """the probability of continuing the walk; otherwise it returns to the anchor"""
    iterations: Annotated[int, Field(ge=1)] = 20
    """steps of the power iteration; ``damping`` to this power bounds the change by further steps"""

    def learn(self, dataset: Dataset) -> PageRankScorer:
        from scipy.sparse import csr_matrix

        size = len(dataset.entities)
        heads, tails = dataset.train.heads, dataset.train.tails
        ends = np.concatenate([heads, tails]) * size + np.concatenate([tails, heads])
        here, there = np.divmod(np.unique(ends), size)
        degrees = np.bincount(here, minlength=size)
        # Each way stands once with each end first: what is sorted by its first end is as well a matrix of arrivals.
        steps = csr_matrix((1 / degrees[there], (here, there)), shape=(size, size))
        return PageRankScorer(steps, len(dataset.relations), self.damping, self.iterations)


@dataclass(frozen=True, eq=False)
class PageRankScorer:
    """The shares of time that walks from the anchors of queries spend at entities."""

    steps: Any
    """sparse float64[entity, entity], the probability of a step to the first from the second"""
    num_relations: int
    damping: float
    iterations: int
    batch_visits: int = BATCH_VISITS

    @property
    def num_entities(self) -> int:
        return int(self.steps.shape[0])

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Walk once from each different anchor; float32[query, candidate]."""
        anchors, walks = np.unique(queries.anchors, return_inverse=True)
        scores = np.empty((len(queries), candidates.shape[-1]), np.float32)
        order = np.argsort(walks, kind="stable")
        starts = np.searchsorted(walks[order], np.arange(len(anchors) + 1))

        def fill(part: slice) -> None:
            visits = self._visits(anchors[part])
            rows = order[starts[part.start] : starts[part.stop]]
            own = walks[rows] - part.start
            scores[rows] = visits[own[:, None], candidates if candidates.ndim == 1 else candidates[rows]]

        parallel_for(fill, len(anchors), max(1, self.batch_visits // self.num_entities))
        return scores

    def _visits(self, anchors: IntArray) -> FloatArray:
        """Iterate from some anchors at once, each by the same sums in the same order; float32[anchor, entity]."""
        columns = np.arange(len(anchors))
        visits = np.zeros((self.num_entities, len(anchors)))
        visits[anchors, columns] = 1
        for _ in range(self.iterations):
            visits = self.steps @ visits
            visits *= self.damping
            visits[anchors, columns] += 1 - self.damping
        visits[anchors, columns] = 0
        return np.ascontiguousarray(visits.T, np.float32)
