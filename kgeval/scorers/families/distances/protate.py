"""pRotatE: rotations of phases alone (Sun et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.block import ScoredFamily
from kgeval.scorers.numerics.complex_halves import multiply
from kgeval.scorers.numerics.similarity import ordered_sum


@dataclass(frozen=True, eq=False)
class PRotatE(ScoredFamily):
    """score(h, r, t) = −Σ_k |sin(h_k + r_k − t_k)|, entities and relations stored as phases in radians.

    Sines and cosines are taken once of the stored phases; |sin(q − e)| = |sin q cos e − cos q sin e|.
    Sun et al.: RotatE: Knowledge Graph Embedding by Relational Rotation in Complex Space, ICLR 2019.
    """

    name: ClassVar[str] = "pRotatE"
    formula: ClassVar[str] = "−Σ |sin(h + r − t)|"
    equal_widths: ClassVar[bool] = True

    @cached_property
    def _entities(self) -> Float64Array:
        return _points(self.entity)

    @cached_property
    def _relations(self) -> Float64Array:
        return _points(self.relation)

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return the point of the circle at h + r, or at t − r, as halves [cos | sin]."""
        conjugate = queries.side == "head"
        return multiply(self._entities[queries.anchors], self._relations[queries.relations], conjugate=conjugate)

    def candidate_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return the points of the circle at e."""
        return self._entities[ids]

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        """Compare phases: −Σ |sin(q − e)|."""
        (q_cos, q_sin), (e_cos, e_sin) = np.split(queries[:, None], 2, axis=-1), np.split(candidates, 2, axis=-1)

        def sines(k: slice) -> Float64Array:
            return np.abs(q_sin[..., k] * e_cos[..., k] - q_cos[..., k] * e_sin[..., k])

        return -ordered_sum(sines, q_cos.shape[-1])


def _points(phases: FloatArray) -> Float64Array:
    phases = np.asarray(phases, np.float64)
    return np.concatenate([np.cos(phases), np.sin(phases)], axis=1)
