"""Squared distances as dot products: −‖q − e‖² = [2q | −1] · [e | e²] − ‖q‖².

A bias that a model adds to the square of a distance has its place in the dot product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.graph.queries import Queries
from kgeval.graph.triples import Side
from kgeval.scorers.base import Scorer, VectorScorer, View, ViewedScorer, views_of
from kgeval.scorers.ordered import products
from kgeval.scorers.similarity import Similarity


def squares_of_candidates(vectors: Float64Array) -> Float64Array:
    """Return [e | e²]; float64[candidate, 2 × dim].

    >>> squares_of_candidates(np.array([[1.0, 3.0]]))
    array([[1., 3., 1., 9.]])
    """
    return np.concatenate([vectors, vectors * vectors], axis=-1)


def squares_of_queries(vectors: Float64Array) -> Float64Array:
    """Return [2q | −1]; float64[query, 2 × dim].

    >>> squares_of_queries(np.array([[1.0, 3.0]]))
    array([[ 2.,  6., -1., -1.]])
    """
    return np.concatenate([2 * vectors, -np.ones_like(vectors)], axis=-1)


def squared_lengths(vectors: Float64Array) -> Float64Array:
    """Return ‖q‖²; float64[query].

    >>> squared_lengths(np.array([[1.0, 3.0]]))
    array([10.])
    """
    return products(vectors, vectors)


@dataclass(frozen=True, eq=False)
class Squared(ViewedScorer):
    """A scorer whose score is the negative square of the Euclidean distance that is another's."""

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

    def views(self, queries: Queries) -> Iterator[View]:
        """Return the views of the distance, squared."""
        for part, view in views_of(self.distance, queries):
            if not isinstance(view, VectorScorer) or view.similarity != "l2":
                raise TypeError("only Euclidean distances of vectors can be squared")
            yield View(part, SquaredVectors(view))


@dataclass(frozen=True, eq=False)
class SquaredVectors(VectorScorer):
    """The negative square of the distance between two vectors, as a dot product."""

    similarity: ClassVar[Similarity] = "dot"

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
        """Return [2q | −1]."""
        return squares_of_queries(self.distance.query_vectors(queries))

    def query_offsets(self, queries: Queries) -> Float64Array:
        """Return −‖q‖²."""
        return -squared_lengths(self.distance.query_vectors(queries))

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return [e | e²]."""
        return squares_of_candidates(np.asarray(self.distance.entity_vectors(side, ids), np.float64))
