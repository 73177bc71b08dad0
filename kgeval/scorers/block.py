"""Families whose vectors no similarity compares: they return finished scores."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.family import Family
from kgeval.threads import parallel_for, slices


class ScoredFamily(Family):
    """score(query, e) = the comparison of the query's vector with e's, the same one for every relation.

    Scores are float64. Every vector is made by elementwise operations in one fixed order, so that
    a score is a function of its pair alone.
    """

    batch_candidates: ClassVar[int] = 2**10
    """candidates whose vectors are in hand at a time"""
    batch_queries: ClassVar[int] = 4
    """queries that a thread compares at a time"""
    by_dimension: ClassVar[bool] = False
    """whether candidates are compared as float64[dim, candidate], for compiled loops over candidates"""

    @abstractmethod
    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return the vector of each query; float64[query, dim]."""

    def candidate_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return the vectors of entities as answers on one side; float[id, dim]."""
        return self.entity[ids]

    @abstractmethod
    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        """Compare the vectors of some queries with those of candidates, a row each; float64[query, candidate]."""

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Score chunk by chunk, some queries at a time; float64[query, candidate]."""
        vectors, width = self.query_vectors(queries), candidates.shape[-1]
        scores = np.empty((len(queries), width))
        for columns in slices(width, self.batch_candidates):
            shared = self._vectors64(queries.side, candidates[columns]) if candidates.ndim == 1 else None

            def compare(part: slice, columns: slice = columns, shared: Float64Array | None = shared) -> None:
                if shared is not None:
                    scores[part, columns] = self.compare(vectors[part], shared)
                    return
                for row in range(part.start, part.stop):
                    own = self._vectors64(queries.side, candidates[row, columns])
                    scores[row, columns] = self.compare(vectors[row : row + 1], own)[0]

            parallel_for(compare, len(vectors), self.batch_queries)
        return scores

    def _vectors64(self, side: Side, ids: IntArray) -> Float64Array:
        vectors = np.asarray(self.candidate_vectors(side, ids), np.float64)
        return np.ascontiguousarray(vectors.T) if self.by_dimension else vectors
