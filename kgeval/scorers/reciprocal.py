"""Scorers behind a mapping of ids, and models trained with inverse relations, which are one kind of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.family import Family
from kgeval.scorers.numerics.similarity import Similarity
from kgeval.scorers.scorer import PartitionedScorer, QueryPartition, Scorer, VectorScorer, views_of


class MappedScorer(PartitionedScorer):
    """Maps queries and answers to the ids and sides of another scorer; its numbers are those before the mapping."""

    @abstractmethod
    def map_queries(self, queries: Queries) -> Queries:
        """Put queries into the ids of the other scorer."""

    def map_answers(self, side: Side, ids: IntArray) -> tuple[Side, IntArray]:
        """Put answers into the ids of the other scorer."""
        return side, ids

    def mapped_views(self, scorer: Scorer | VectorScorer, queries: Queries) -> Iterator[QueryPartition]:
        """Split queries as the other scorer does, whose vectors are looked up behind the mapping."""
        for part, view in views_of(scorer, self.map_queries(queries)):
            yield QueryPartition(part, RemappedVectors(self, view) if isinstance(view, VectorScorer) else self)


@dataclass(frozen=True, eq=False)
class RemappedVectors(VectorScorer):
    """A vector scorer behind a mapping."""

    mapping: MappedScorer
    vectors: VectorScorer

    @property
    def similarity(self) -> Similarity:
        return self.vectors.similarity

    @property
    def num_entities(self) -> int:
        return self.mapping.num_entities

    @property
    def num_relations(self) -> int:
        return self.mapping.num_relations

    def query_vectors(self, queries: Queries) -> Float64Array:
        return self.vectors.query_vectors(self.mapping.map_queries(queries))

    def query_offsets(self, queries: Queries) -> Float64Array:
        return self.vectors.query_offsets(self.mapping.map_queries(queries))

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        return self.vectors.entity_vectors(*self.mapping.map_answers(side, ids))

    def entity_biases(self, side: Side, ids: IntArray) -> Float64Array:
        return self.vectors.entity_biases(*self.mapping.map_answers(side, ids))


@dataclass(frozen=True, eq=False)
class Reciprocal(MappedScorer):
    """A family whose relation rows are R relations, then their R inverses: (?, r, t) is scored as (t, r + R, ?).

    Lacroix, Usunier and Obozinski: Canonical Tensor Decomposition for Knowledge Base Completion, ICML 2018.
    """

    family: Family

    def __post_init__(self) -> None:
        rows = self.family.num_relations
        self.family.require(rows % 2 == 0, "a reciprocal model has two rows per relation, so an even number")

    @property
    def num_entities(self) -> int:
        return self.family.num_entities

    @property
    def num_relations(self) -> int:
        return self.family.num_relations // 2

    @property
    def num_times(self) -> int | None:
        return self.family.num_times

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        return self.family.scores(self.map_queries(queries), candidates)

    def views(self, queries: Queries) -> Iterator[QueryPartition]:
        return self.mapped_views(self.family, queries)

    def map_queries(self, queries: Queries) -> Queries:
        if queries.side == "tail":
            return queries
        return replace(queries, side="tail", relations=queries.relations + self.num_relations)

    def map_answers(self, side: Side, ids: IntArray) -> tuple[Side, IntArray]:
        return "tail", ids
