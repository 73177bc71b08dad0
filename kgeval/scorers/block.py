"""Families whose vectors no similarity compares: they return finished scores."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.scorers.family import Family
from kgeval.threads import parallel_for, slices

BATCH_CANDIDATES = 2**10
"""candidates whose vectors are in hand at a time"""

BATCH_QUERIES = 4
"""queries that a thread compares at a time"""


class ScoredFamily(Family):
    """score(query, e) = the comparison of the query's vector with e's, the same one for every relation.

    Scores are float64. Every vector is made by elementwise operations in one fixed order, so that
    a score is a function of its pair alone.
    """

    @abstractmethod
    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return the vector of each query; float64[query, dim]."""

    def candidate_vectors(self, ids: IntArray) -> FloatArray:
        """Return the vectors of entities; float[id, dim]."""
        return self.entity[ids]

    @abstractmethod
    def compare(self, query: Float64Array, candidates: Float64Array) -> Float64Array:
        """Compare one query's vector with the vectors of candidates; float64[candidate]."""

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Score chunk by chunk, each query by itself; float64[query, candidate]."""
        vectors, width = self.query_vectors(queries), candidates.shape[-1]
        scores = np.empty((len(queries), width))
        for columns in slices(width, BATCH_CANDIDATES):
            shared = self._vectors64(candidates[columns]) if candidates.ndim == 1 else None

            def compare(part: slice, columns: slice = columns, shared: Float64Array | None = shared) -> None:
                for row in range(part.start, part.stop):
                    others = self._vectors64(candidates[row, columns]) if shared is None else shared
                    scores[row, columns] = self.compare(vectors[row], others)

            parallel_for(compare, len(vectors), BATCH_QUERIES)
        return scores

    def _vectors64(self, ids: IntArray) -> Float64Array:
        return np.asarray(self.candidate_vectors(ids), np.float64)
