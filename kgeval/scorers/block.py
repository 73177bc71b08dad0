"""Families that no table of entity vectors serves: each relation sees the candidates differently, or compares oddly."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.graph.queries import Queries
from kgeval.graph.triples import Side
from kgeval.scorers.base import VectorScorer
from kgeval.scorers.family import Family
from kgeval.scorers.similarity import Similarity, canonical

CHUNK = 2**13
"""candidates whose vectors are in hand at a time"""


class BlockFamily(Family):
    """score(query, e) = similarity(query's vector, e's vector under the relation) + bias of e + offset of the query.

    It hands over finished scores in float64. Every vector is made by elementwise operations in one fixed order, so that
    a score is a function of its pair alone.
    """

    @property
    @abstractmethod
    def similarity(self) -> Similarity:
        """Which similarity compares the vectors."""

    @abstractmethod
    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return the vector of each query; float64[query, dim]."""

    @abstractmethod
    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> FloatArray:
        """Return the vectors of entities as answers of one relation; float[id, dim]."""

    def candidate_biases(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        """Return what is added to the scores of entities; float64[id]."""
        return np.zeros(len(ids))

    def query_offsets(self, queries: Queries) -> Float64Array:
        """Return what is added to all scores of a query; float64[query]."""
        return np.zeros(len(queries))

    def compare(self, query: Float64Array, candidates: Float64Array) -> Float64Array:
        """Compare one query's vector with the vectors of candidates; float64[candidate]."""
        return canonical(self.similarity, query, candidates)

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Score relation by relation, one query at a time; float64[query, candidate]."""
        vectors, offsets = self.query_vectors(queries), self.query_offsets(queries)
        scores = np.empty((len(queries), candidates.shape[-1]))
        for relation, rows, columns, ids in _blocks(queries, candidates):
            offered = np.asarray(self.candidate_vectors(queries.side, relation, ids), np.float64)
            biases = self.candidate_biases(queries.side, relation, ids)
            for row in rows:
                scores[row, columns] = self.compare(vectors[row], offered) + biases + offsets[row]
        return scores

    def under(self, relation: int) -> UnderRelation:
        """Fix the relation that sees the candidates."""
        return UnderRelation(self, relation)


def _blocks(queries: Queries, candidates: IntArray) -> Iterator[tuple[int, IntArray, slice, IntArray]]:
    """Cut a block of scores into parts that share a relation and candidates: (relation, rows, columns, ids)."""
    width = candidates.shape[-1]
    for relation in np.unique(queries.relations):
        rows = np.flatnonzero(queries.relations == relation)
        for start in range(0, width, CHUNK):
            columns = slice(start, min(start + CHUNK, width))
            if candidates.ndim == 1:
                yield int(relation), rows, columns, candidates[columns]
            else:
                yield from ((int(relation), row, columns, candidates[row[0], columns]) for row in rows[:, None])


@dataclass(frozen=True, eq=False)
class UnderRelation(VectorScorer):
    """A block family whose candidates are seen by one relation, for which they are plain vectors."""

    family: BlockFamily
    relation: int

    @property
    def similarity(self) -> Similarity:
        """The similarity of the family."""
        return self.family.similarity

    @property
    def num_entities(self) -> int:
        """How many entities the family knows."""
        return self.family.num_entities

    @property
    def num_relations(self) -> int:
        """How many relations the family knows."""
        return self.family.num_relations

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return the family's query vectors."""
        return self.family.query_vectors(queries)

    def query_offsets(self, queries: Queries) -> Float64Array:
        """Return the family's query offsets."""
        return self.family.query_offsets(queries)

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return the vectors of entities as the relation sees them."""
        return self.family.candidate_vectors(side, self.relation, ids)

    def entity_biases(self, side: Side, ids: IntArray) -> Float64Array:
        """Return the family's biases of entities."""
        return self.family.candidate_biases(side, self.relation, ids)
