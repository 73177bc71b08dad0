"""Bases of families: finished scores, vectors that depend on the relation, projections, and networks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray, IntArray
from kgeval.base.threads import parallel_for, slices
from kgeval.data.queries import Queries, starts_of_runs
from kgeval.data.triples import Side
from kgeval.models.family import Family, by_relation, rows64
from kgeval.models.ordered import limit_norm, matmul_ordered, unit
from kgeval.models.scorer import MadeOf, PartitionedScorer, QueryPartition, VectorScorer
from kgeval.models.similarity import NormDistance, Similarity

BATCH_ENTITIES = 512
"""entities whose vectors are made at a time"""


class ScoredFamily(Family):
    """score(query, e) = the comparison of the query's vector with e's, the same one for every relation; float64.

    Every vector is made by elementwise operations in one fixed order, so that a score is a function of its pair alone.
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


class RelationalFamily(Family, PartitionedScorer):
    """score(query, e) = similarity(query's vector, e's vector under the relation) + bias of e + offset of the query.

    Every vector is made by elementwise operations in one fixed order, so that a score is a function of its pair alone.
    """

    @property
    @abstractmethod
    def similarity(self) -> Similarity: ...

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
        return np.zeros(len(queries))

    def is_shared(self, side: Side) -> bool:
        """Whether the candidates of a side have the same vectors under all relations."""
        return False

    def views(self, queries: Queries) -> Iterator[QueryPartition]:
        starts = starts_of_runs(queries.relations)[: 1 if self.is_shared(queries.side) else None]
        for start, stop in pairwise([*starts, len(queries)]):
            yield QueryPartition(slice(start, stop), RelationVectors(self, int(queries.relations[start])))

    scores = PartitionedScorer.scores


@dataclass(frozen=True, eq=False)
class RelationVectors(MadeOf[RelationalFamily], VectorScorer):
    """A relational family under one relation."""

    relation: int

    @property
    def similarity(self) -> Similarity:
        return self.scorer.similarity

    def query_vectors(self, queries: Queries) -> Float64Array:
        return self.scorer.query_vectors(queries)

    def query_offsets(self, queries: Queries) -> Float64Array:
        return self.scorer.query_offsets(queries)

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        first = self.scorer.candidate_vectors(side, self.relation, ids[:BATCH_ENTITIES])
        vectors = np.empty((len(ids), first.shape[1]), first.dtype)
        vectors[:BATCH_ENTITIES] = first

        def make(rest: slice) -> None:
            part = slice(rest.start + BATCH_ENTITIES, rest.stop + BATCH_ENTITIES)
            vectors[part] = self.scorer.candidate_vectors(side, self.relation, ids[part])

        parallel_for(make, max(len(ids) - BATCH_ENTITIES, 0), BATCH_ENTITIES)
        return vectors

    def entity_biases(self, side: Side, ids: IntArray) -> Float64Array:
        return self.scorer.candidate_biases(side, self.relation, ids)


def rectified(vectors: Float64Array, weight: FloatArray, bias: FloatArray) -> Float64Array:
    """Pass rows through a layer of a network: relu(x W + b), a function of each row alone."""
    return np.maximum(matmul_ordered(vectors, np.asarray(weight, np.float64)) + np.asarray(bias, np.float64), 0)


class TailNetwork(RelationalFamily):
    """score(h, r, t) = network(h, r) · t + b_t.

    Tails are plain vectors; each head makes its own vector with the relation.
    """

    similarity: ClassVar[Similarity] = "dot"

    @abstractmethod
    def network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        """Return the vector of each pair of head and relation, of that pair alone; float64[pair, entity width]."""

    def tail_biases(self, ids: IntArray) -> Float64Array:
        """Return what is added to the scores of tails; float64[id]."""
        return np.zeros(len(ids))

    def is_shared(self, side: Side) -> bool:
        return side == "tail"

    def query_vectors(self, queries: Queries) -> Float64Array:
        if queries.side == "head":
            return rows64(self.entity, queries.anchors)
        return self.network(queries.anchors, queries.relations)

    def query_offsets(self, queries: Queries) -> Float64Array:
        return np.zeros(len(queries)) if queries.side == "tail" else self.tail_biases(queries.anchors)

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> FloatArray:
        return self.entity[ids] if side == "tail" else self.network(ids, np.full(len(ids), relation))

    def candidate_biases(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        return self.tail_biases(ids) if side == "tail" else np.zeros(len(ids))


@dataclass(frozen=True, eq=False)
class ProjectedTranslation(NormDistance, RelationalFamily):
    """score(h, r, t) = −‖P_r(h) + r − P_r(t)‖_p, with the projection P_r that a family defines."""

    normalization: Literal["none", "unit", "max_norm"]
    """what projected entities pass: nothing, a scaling to length 1, or one to norm 1 (of that p) if theirs is more"""

    @abstractmethod
    def project(self, ids: IntArray, relation: int) -> Float64Array:
        """Project entities as one relation does; float64[id, relation width]."""

    def query_vectors(self, queries: Queries) -> Float64Array:
        anchors = by_relation(
            queries.relations,
            self.relation.shape[1],
            lambda relation, part: self.candidate_vectors(queries.side, relation, queries.anchors[part]),
        )
        relations = rows64(self.relation, queries.relations)
        return anchors + relations if queries.side == "tail" else anchors - relations

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        projected = self.project(ids, relation)
        if self.normalization == "none":
            return projected
        return unit(projected) if self.normalization == "unit" else limit_norm(projected, self.norm)
