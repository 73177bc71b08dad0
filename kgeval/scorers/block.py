"""Families whose vectors no similarity compares: they return finished scores."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.scorers.family import Family

BATCH_CANDIDATES = 2**13
"""candidates whose vectors are in hand at a time"""


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
        """Score chunk by chunk, one query at a time; float64[query, candidate]."""
        vectors, width = self.query_vectors(queries), candidates.shape[-1]
        scores = np.empty((len(queries), width))
        for start in range(0, width, BATCH_CANDIDATES):
            columns = slice(start, start + BATCH_CANDIDATES)
            shared = self._vectors64(candidates[columns]) if candidates.ndim == 1 else None
            for row, vector in enumerate(vectors):
                vectors64 = self._vectors64(candidates[row, columns]) if shared is None else shared
                scores[row, columns] = self.compare(vector, vectors64)
        return scores

    def _vectors64(self, ids: IntArray) -> Float64Array:
        return np.asarray(self.candidate_vectors(ids), np.float64)
