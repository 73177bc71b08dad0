"""Vectors that are asked by others' ids or sides: those of a dataset, or head queries for tail queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.numerics.similarity import Similarity
from kgeval.scorers.scorer import VectorScorer


class IdMapping(Protocol):
    """Says what is asked in the terms of the one who answers."""

    @property
    def num_entities(self) -> int:
        """How many entities can be asked for."""
        ...

    @property
    def num_relations(self) -> int:
        """How many relations can be asked for."""
        ...

    def translated(self, queries: Queries) -> Queries:
        """Translate queries."""
        ...

    def answers(self, side: Side, ids: IntArray) -> tuple[Side, IntArray]:
        """Translate entities (int64[id]) as answers on one side."""
        ...


@dataclass(frozen=True, eq=False)
class RemappedVectors(VectorScorer):
    """A vector scorer behind a translator."""

    translator: IdMapping
    vectors: VectorScorer

    @property
    def similarity(self) -> Similarity:
        """The scorer's similarity."""
        return self.vectors.similarity

    @property
    def num_entities(self) -> int:
        """How many entities can be asked for."""
        return self.translator.num_entities

    @property
    def num_relations(self) -> int:
        """How many relations can be asked for."""
        return self.translator.num_relations

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return the scorer's query vectors."""
        return self.vectors.query_vectors(self.translator.translated(queries))

    def query_offsets(self, queries: Queries) -> Float64Array:
        """Return the scorer's query offsets."""
        return self.vectors.query_offsets(self.translator.translated(queries))

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return the scorer's entity vectors."""
        return self.vectors.entity_vectors(*self.translator.answers(side, ids))

    def entity_biases(self, side: Side, ids: IntArray) -> Float64Array:
        """Return the scorer's entity biases."""
        return self.vectors.entity_biases(*self.translator.answers(side, ids))
