"""Scorers by squared Euclidean distances, made of scorers by Euclidean distances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.numerics.similarity import Similarity
from kgeval.scorers.scorer import PartitionedScorer, QueryPartition, Scorer, VectorScorer, views_of


@dataclass(frozen=True, eq=False)
class Squared(PartitionedScorer):
    """A scorer whose score is −d², where that of another scorer is −d, a Euclidean distance."""

    distance: Scorer | VectorScorer
    """a scorer by Euclidean distances (``l2``) alone, without biases and offsets"""

    @property
    def num_entities(self) -> int:
        """How many entities it knows."""
        return self.distance.num_entities

    @property
    def num_relations(self) -> int:
        """How many relations it knows."""
        return self.distance.num_relations

    def views(self, queries: Queries) -> Iterator[QueryPartition]:
        """Return the views of the distance, squared."""
        for part, view in views_of(self.distance, queries):
            if not isinstance(view, VectorScorer) or view.similarity != "l2":
                raise TypeError("only Euclidean distances of vectors can be squared")
            yield QueryPartition(part, SquaredVectors(view))


@dataclass(frozen=True, eq=False)
class SquaredVectors(VectorScorer):
    """The negative square of the distance between two vectors."""

    similarity: ClassVar[Similarity] = "squared_l2"

    distance: VectorScorer

    @property
    def num_entities(self) -> int:
        """How many entities it knows."""
        return self.distance.num_entities

    @property
    def num_relations(self) -> int:
        """How many relations it knows."""
        return self.distance.num_relations

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return the vectors of the distance."""
        return self.distance.query_vectors(queries)

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return the vectors of the distance."""
        return self.distance.entity_vectors(side, ids)
