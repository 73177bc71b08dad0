"""Families whose network makes a vector of head and relation, which tails are multiplied with."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.similarity import Similarity
from kgeval.scorers.relational import RelationalFamily


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
        """Tails have their stored vectors under every relation."""
        return side == "tail"

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return the network's vector of head and relation for a tail query, the tail itself for a head query."""
        if queries.side == "head":
            return rows64(self.entity, queries.anchors)
        return self.network(queries.anchors, queries.relations)

    def query_offsets(self, queries: Queries) -> Float64Array:
        """Return the bias of the tail for a head query."""
        return np.zeros(len(queries)) if queries.side == "tail" else self.tail_biases(queries.anchors)

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> FloatArray:
        """Return the network's vector of each head with the relation; tails have their stored vectors."""
        return self.entity[ids] if side == "tail" else self.network(ids, np.full(len(ids), relation))

    def candidate_biases(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        """Return the biases of tails."""
        return self.tail_biases(ids) if side == "tail" else np.zeros(len(ids))
