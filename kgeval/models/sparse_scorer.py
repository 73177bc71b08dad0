"""Scorers that know few entities of each query: those have scores of their own, and all others share one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray, IntArray
from kgeval.base.errors import ScoreError
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows


@dataclass(frozen=True, eq=False)
class SparseScores:
    """The scores of some queries. Queries that list the same entities share a row.

    >>> both = SparseScores(Rows.of([[1, 4]]), np.array([3.0, 2.0]), of_query=np.array([0, 0]))
    >>> both.at(np.array([0, 0, 1]), np.array([4, 2, 1]))
    array([2., 0., 3.])
    """

    rows: Rows
    """the listed entities, ascending and distinct in each row"""
    scores: Float64Array
    """float64[listed entity]"""
    of_query: IntArray
    """int64[query], the row of each query"""
    others: float = 0.0
    """the score of every entity that is not listed"""

    def __post_init__(self) -> None:
        if np.isnan(self.scores).any() or np.isnan(self.others):
            raise ScoreError("a sparse scorer returned NaN: entities without a score are left out of its rows.")

    def at(self, queries: IntArray, ids: IntArray) -> Float64Array:
        """Look up the score of each entity as an answer to a query, by the query's index; float64[id]."""
        rows = self.of_query[queries]
        places = self.rows.positions(rows, ids)
        scores = np.append(self.scores, self.others)
        return np.asarray(scores[np.where(places < 0, len(self.scores), self.rows.offsets[rows] + places)])

    def in_use(self) -> SparseScores:
        """Keep the rows of these queries alone: a rule may share the rows of all relations."""
        used, of_query = np.unique(self.of_query, return_inverse=True)
        places = Rows.spans(self.rows.offsets[used], self.rows.offsets[used + 1], np.arange(len(self.scores)))
        rows = Rows(places.offsets, self.rows.ids[places.ids])
        return SparseScores(rows, self.scores[places.ids], of_query, self.others)

    def renumbered(self, ids: IntArray) -> SparseScores:
        """Give each entity another id, int64[entity]; those whose new one is negative are no longer listed."""
        there = ids[self.rows.ids] >= 0
        rows, scores = self.rows.where(there), self.scores[there]
        renamed = ids[rows.ids]
        order = np.lexsort((renamed, rows.owners))
        return replace(self, rows=Rows(rows.offsets, renamed[order]), scores=scores[order])


@dataclass(frozen=True, eq=False)
class SparseScorer:
    """A scorer by a rule that lists the entities it knows for a query."""

    num_entities: int
    num_relations: int
    rule: Callable[[Queries], SparseScores]
    """queries of one side -> their scores"""

    def sparse_scores(self, queries: Queries) -> SparseScores:
        return self.rule(queries).in_use()

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        wanted = np.broadcast_to(candidates, (len(queries), candidates.shape[-1]))
        owners = np.repeat(np.arange(len(queries)), wanted.shape[1])
        return self.sparse_scores(queries).at(owners, wanted.ravel()).reshape(wanted.shape)

    def seen_through(self, map_queries: Callable[[Queries], Queries], entity_rows: IntArray) -> SparseScorer:
        """Return the scorer in other ids; ``entity_rows`` (int64[entity]) holds its own, -1 for what it lacks."""
        known = np.flatnonzero(entity_rows >= 0)
        ids = np.full(self.num_entities, -1)
        ids[entity_rows[known]] = known

        def rule(queries: Queries) -> SparseScores:
            return self.sparse_scores(map_queries(queries)).renumbered(ids)

        return SparseScorer(len(entity_rows), self.num_relations, rule)
