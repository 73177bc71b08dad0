"""MuRE: a stretched head, a translation and biases (Balažević et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.similarity import Similarity
from kgeval.scorers.relational import RelationalFamily


@dataclass(frozen=True, eq=False)
class MuRE(RelationalFamily):
    """score(h, r, t) = −‖R_r∘h + r − t‖² + b_h + b'_t. Each relation stretches heads in its own way.

    Balažević, Allen and Hospedales: Multi-relational Poincaré Graph Embeddings, NeurIPS 2019.
    """

    name: ClassVar[str] = "MuRE"
    formula: ClassVar[str] = "−‖R∘h + r − t‖² + b_h + b'_t"
    similarity: ClassVar[Similarity] = "squared_l2"
    equal_widths: ClassVar[bool] = True

    diagonal: FloatArray
    """float[relation, width], the stretching R"""
    head_bias: FloatArray
    """float[entity]"""
    tail_bias: FloatArray
    """float[entity]"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.diagonal.shape == self.relation.shape, "diagonal must have the shape of relation")
        rows = (len(self.entity),)
        self.require(self.head_bias.shape == rows == self.tail_bias.shape, "biases must be one number per entity")

    def is_shared(self, side: Side) -> bool:
        """Tails have their stored vectors under every relation."""
        return side == "tail"

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Stretch and move heads, or move tails back: R∘h + r for a tail query, t − r for a head query."""
        anchors, relations = rows64(self.entity, queries.anchors), rows64(self.relation, queries.relations)
        if queries.side == "head":
            return anchors - relations
        return rows64(self.diagonal, queries.relations) * anchors + relations

    def query_offsets(self, queries: Queries) -> Float64Array:
        """Return the bias of the anchor."""
        return rows64(self.head_bias if queries.side == "tail" else self.tail_bias, queries.anchors)

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> FloatArray:
        """Stretch heads, R∘h; tails have their stored vectors."""
        if side == "tail":
            return self.entity[ids]
        return np.asarray(rows64(self.diagonal, relation) * rows64(self.entity, ids))

    def candidate_biases(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        """Return the biases of entities as heads or as tails."""
        return rows64(self.head_bias if side == "head" else self.tail_bias, ids)
