"""Families whose entities have other vectors under each relation; under one relation, they are vector scorers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries, starts_of_runs
from kgeval.data.triples import Side
from kgeval.scorers.family import Family
from kgeval.scorers.numerics.similarity import Similarity
from kgeval.scorers.scorer import PartitionedScorer, QueryPartition, VectorScorer
from kgeval.threads import parallel_for

BATCH_ENTITIES = 512
"""entities whose vectors are made at a time"""


class RelationalFamily(Family, PartitionedScorer):
    """score(query, e) = similarity(query's vector, e's vector under the relation) + bias of e + offset of the query.

    Every vector is made by elementwise operations in one fixed order, so that a score is a function of its pair alone.
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

    def is_shared(self, side: Side) -> bool:
        """Whether the candidates of a side have the same vectors under all relations."""
        return False

    def views(self, queries: Queries) -> Iterator[QueryPartition]:
        """Cut queries into runs of one relation, where the candidates' vectors depend on it."""
        starts = starts_of_runs(queries.relations)[: 1 if self.is_shared(queries.side) else None]
        for start, stop in pairwise([*starts, len(queries)]):
            yield QueryPartition(slice(start, stop), RelationVectors(self, int(queries.relations[start])))

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Return the canonical scores of candidates (int64[candidate] or int64[query, candidate])."""
        return PartitionedScorer.scores(self, queries, candidates)


@dataclass(frozen=True, eq=False)
class RelationVectors(VectorScorer):
    """A relational family under one relation."""

    family: RelationalFamily
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
        """Return the vectors of entities under the relation, a part at a time, which stays in cache."""
        first = self.family.candidate_vectors(side, self.relation, ids[:BATCH_ENTITIES])
        vectors = np.empty((len(ids), first.shape[1]), first.dtype)
        vectors[:BATCH_ENTITIES] = first

        def make(rest: slice) -> None:
            part = slice(rest.start + BATCH_ENTITIES, rest.stop + BATCH_ENTITIES)
            vectors[part] = self.family.candidate_vectors(side, self.relation, ids[part])

        parallel_for(make, max(len(ids) - BATCH_ENTITIES, 0), BATCH_ENTITIES)
        return vectors

    def entity_biases(self, side: Side, ids: IntArray) -> Float64Array:
        """Return the family's biases of entities."""
        return self.family.candidate_biases(side, self.relation, ids)
