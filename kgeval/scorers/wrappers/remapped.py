"""Vector scorers behind a mapping: of a dataset's ids to the model's, or of head queries to tail queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.numerics.similarity import Similarity
from kgeval.scorers.scorer import VectorScorer


class IdMapping(Protocol):
    """Maps queries and entities to the ids and sides of a scorer."""

    @property
    def num_entities(self) -> int:
        """How many entities there are before the mapping."""
        ...

    @property
    def num_relations(self) -> int:
        """How many relations there are before the mapping."""
        ...

    def map_queries(self, queries: Queries) -> Queries:
        """Map queries."""
        ...

    def map_answers(self, side: Side, ids: IntArray) -> tuple[Side, IntArray]:
        """Map entities (int64[id]) as answers on one side."""
        ...


@dataclass(frozen=True, eq=False)
class RemappedVectors(VectorScorer):
    """A vector scorer behind a mapping."""

    mapping: IdMapping
    vectors: VectorScorer

    @property
    def similarity(self) -> Similarity:
        """The scorer's similarity."""
        return self.vectors.similarity

    @property
    def num_entities(self) -> int:
        """How many entities there are before the mapping."""
        return self.mapping.num_entities

    @property
    def num_relations(self) -> int:
        """How many relations there are before the mapping."""
        return self.mapping.num_relations

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return the scorer's query vectors."""
        return self.vectors.query_vectors(self.mapping.map_queries(queries))

    def query_offsets(self, queries: Queries) -> Float64Array:
        """Return the scorer's query offsets."""
        return self.vectors.query_offsets(self.mapping.map_queries(queries))

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return the scorer's entity vectors."""
        return self.vectors.entity_vectors(*self.mapping.map_answers(side, ids))

    def entity_biases(self, side: Side, ids: IntArray) -> Float64Array:
        """Return the scorer's entity biases."""
        return self.vectors.entity_biases(*self.mapping.map_answers(side, ids))
