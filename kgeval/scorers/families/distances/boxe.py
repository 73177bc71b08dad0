"""BoxE: entities bump each other, and are near the boxes of a relation or not (Abboud et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.data.queries import Queries
from kgeval.scorers.block import ScoredFamily
from kgeval.scorers.family import rows64
from kgeval.threads import slices

CACHED_NUMBERS = 2**15
"""numbers of moved points that are in hand at a time"""


@dataclass(frozen=True, eq=False)
class BoxE(ScoredFamily):
    """score(h, r, t) = −‖D(h + t', head box)‖_p − ‖D(t + h', tail box)‖_p, halves [position | bump e'] of entities.

    A relation's row is [low | high] of its head box, then of its tail box. D is, in each dimension of width w around
    the centre c, |x − c| / (w + 1) inside the box and |x − c| (w + 1) − w/2 ((w + 1) − 1/(w + 1)) outside.
    Abboud et al.: BoxE: A Box Embedding Model for Knowledge Base Completion, NeurIPS 2020.
    """

    name: ClassVar[str] = "BoxE"
    formula: ClassVar[str] = "−‖D(h + t', head box)‖_p − ‖D(t + h', tail box)‖_p"

    norm: Literal[1, 2]
    """the p of the norm"""
    tanh: bool
    """whether bumped positions are mapped by tanh before they are compared; the boxes are stored mapped"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.relation.shape[1] == 2 * self.entity.shape[1], "relation must be twice as wide as entity")
        self.require(self.entity.shape[1] % 2 == 0, "entities are stored as halves of an even width")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Lay the anchor, its own box and the box of its candidates side by side."""
        head, tail = np.split(rows64(self.relation, queries.relations), 2, axis=1)
        boxes = (head, tail) if queries.side == "tail" else (tail, head)
        return np.concatenate([rows64(self.entity, queries.anchors), *boxes], axis=1)

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        """Bump anchor and candidates, and measure each against its box."""
        positions, bumps = np.split(candidates, 2, axis=1)
        scores = np.empty((len(queries), len(candidates)))
        for query, row in zip(queries, scores, strict=True):
            position, bump, low, high, other_low, other_high = np.split(query, 6)
            row[:] = -self._distance(position, bumps, low, high) - self._distance(
                bump, positions, other_low, other_high
            )
        return scores

    def _distance(
        self, move: Float64Array, points: Float64Array, low: Float64Array, high: Float64Array
    ) -> Float64Array:
        """Measure how far moved points are from a box, some at a time, which stay in cache; float64[point]."""
        # Numba is loaded when something is scored, not before.
        from kgeval.scorers.numerics.box_kernel import distances_from_box

        found = np.empty(len(points))
        for part in slices(len(points), max(1, CACHED_NUMBERS // len(low))):
            moved = move + points[part]
            distances_from_box(
                np.tanh(moved, out=moved) if self.tanh else moved, low, high, self.norm == 2, found[part]
            )
        return found
