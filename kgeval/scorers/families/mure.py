"""MuRE: a stretched head, a translation and biases (Balažević et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.graph.queries import Queries
from kgeval.graph.triples import Side
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.similarity import Similarity
from kgeval.scorers.squares import squared_lengths, squares_of_candidates, squares_of_queries


@dataclass(frozen=True, eq=False)
class MuRE(VectorFamily):
    """score(h, r, t) = −‖R_r∘h + r − t‖² + b_h + b'_t, as a dot product of [2q | −1] and [e | e²].

    Balažević, Allen and Hospedales: Multi-relational Poincaré Graph Embeddings, NeurIPS 2019.
    """

    name: ClassVar[str] = "MuRE"
    formula: ClassVar[str] = "−‖R∘h + r − t‖² + b_h + b'_t"
    similarity: ClassVar[Similarity] = "dot"

    diagonal: FloatArray
    """float[relation, width], the stretching R"""
    head_bias: FloatArray
    """float[entity]"""
    tail_bias: FloatArray
    """float[entity]"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.entity.shape[1] == self.relation.shape[1], "entity and relation must have the same width")
        self.require(self.diagonal.shape == self.relation.shape, "diagonal must have the shape of relation")
        rows = (len(self.entity),)
        self.require(self.head_bias.shape == rows == self.tail_bias.shape, "biases must be one number per entity")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """[2q | −1] of q = R∘h + r for a tail query; [2R∘q | −R²] of q = t − r for a head query."""
        vectors = squares_of_queries(self._places(queries))
        if queries.side == "tail":
            return vectors
        diagonal = rows64(self.diagonal, queries.relations)
        return np.asarray(vectors * np.concatenate([diagonal, diagonal * diagonal], axis=1))

    def query_offsets(self, queries: Queries) -> Float64Array:
        """−‖q‖², and the bias of the anchor."""
        bias = self.head_bias if queries.side == "tail" else self.tail_bias
        return np.asarray(rows64(bias, queries.anchors) - squared_lengths(self._places(queries)))

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return [e | e²]."""
        return squares_of_candidates(rows64(self.entity, ids))

    def entity_biases(self, side: Side, ids: IntArray) -> Float64Array:
        """Return the biases of entities as heads or as tails."""
        return rows64(self.head_bias if side == "head" else self.tail_bias, ids)

    def _places(self, queries: Queries) -> Float64Array:
        """Where the query expects its answer, stretched for heads."""
        anchors, relations = rows64(self.entity, queries.anchors), rows64(self.relation, queries.relations)
        if queries.side == "head":
            return anchors - relations
        return rows64(self.diagonal, queries.relations) * anchors + relations
