"""LFMult: entities and relations as functions on [0, 1], whose product is integrated (Kamdem Teyou et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.numerics.similarity import Similarity

POINTS = 100
"""evenly spaced points of the trapezoidal rule"""


@dataclass(frozen=True, eq=False)
class LFMult(VectorFamily):
    """score(h, r, t) = ∫₀¹ Σ_k tanh(h_k x + h'_k) tanh(r_k x + r'_k) tanh(t_k x + t'_k) dx, by the trapezoidal rule.

    A row holds degree + 1 parts of one length; the first are the slopes h, the second the shifts h', and further ones
    do not count. Heads and tails can change places.
    Kamdem Teyou, Demir and Ngonga Ngomo: Embedding Knowledge Graphs in Function Spaces, 2024.
    """

    name: ClassVar[str] = "LFMult"
    formula: ClassVar[str] = "∫ Σ tanh(h x + h') tanh(r x + r') tanh(t x + t') dx, x from 0 to 1"
    similarity: ClassVar[Similarity] = "dot"
    equal_widths: ClassVar[bool] = True

    degree: int
    """how many parts a row has besides the first"""

    def __post_init__(self) -> None:
        super().__post_init__()
        parts = self.degree + 1
        self.require(parts > 1 and self.entity.shape[1] % parts == 0, f"rows must have at least two of {parts} parts")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Multiply anchor and relation at every point, with the point's part of the integral."""
        step = np.full(POINTS, 1.0 / (POINTS - 1))
        step[[0, -1]] /= 2
        anchors, relations = self._values(self.entity, queries.anchors), self._values(self.relation, queries.relations)
        return np.asarray((anchors * relations * step).reshape(len(queries), -1))

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return the values of entities at every point."""
        return self._values(self.entity, ids).reshape(len(ids), -1)

    def _values(self, table: FloatArray, ids: IntArray) -> Float64Array:
        """Evaluate the network of each row; float64[row, part of the row, point]."""
        slopes, shifts = np.split(rows64(table, ids), self.degree + 1, axis=1)[:2]
        return np.tanh(slopes[..., None] * np.linspace(0.0, 1.0, POINTS) + shifts[..., None])
