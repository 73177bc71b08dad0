"""Families of regions: boxes that a relation's entities should be in (BoxE), and entities as distributions (KG2E).

Readers of checkpoints make these models of stored arrays; ``kgeval/models/family.py`` explains their methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from kgeval.base.arrays import Float64Array
from kgeval.base.errors import CheckpointError
from kgeval.base.threads import slices
from kgeval.data.queries import Queries
from kgeval.models.family import ScoredFamily, rows64
from kgeval.models.similarity import dot_rows

CACHED_NUMBERS = 2**15
"""the number of coordinates of moved points that are held at a time, so that they stay in cache"""

LIMITS = (1e-6, 1e9)
"""the smallest and the largest variance that is accepted: training leaves none near them"""

FACTORS = 32
"""how many variances are multiplied before the logarithm is taken: each is from 1e-6 to 3e9, so float64 holds the
product"""


@dataclass(frozen=True, eq=False)
class BoxE(ScoredFamily):
    """score(h, r, t) = −‖D(h + t', head box)‖_p − ‖D(t + h', tail box)‖_p, halves [position | bump e'] of entities.

    A relation's row is [low | high] of its head box, then of its tail box. D is, in each dimension of width w around
    the centre c, |x − c| / (w + 1) inside the box and |x − c| (w + 1) − w/2 ((w + 1) − 1/(w + 1)) outside.
    Abboud et al.: BoxE: A Box Embedding Model for Knowledge Base Completion, NeurIPS 2020.
    """

    formula: ClassVar[str] = "−‖D(h + t', head box)‖_p − ‖D(t + h', tail box)‖_p"

    norm: Literal[1, 2]
    """the p of the norm"""
    tanh: bool
    """whether bumped positions are mapped by tanh before they are compared; the boxes are stored mapped"""

    def check_shapes(self) -> None:
        self.require(self.relation.shape[1] == 2 * self.entity.shape[1], "relation must be twice as wide as entity")
        self.require(self.entity.shape[1] % 2 == 0, "entities are stored as halves of an even width")

    def query_vectors(self, queries: Queries) -> Float64Array:
        head, tail = np.split(rows64(self.relation, queries.relations), 2, axis=1)
        boxes = (head, tail) if queries.side == "tail" else (tail, head)
        return np.concatenate([rows64(self.entity, queries.anchors), *boxes], axis=1)

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        positions, bumps = np.split(candidates, 2, axis=1)
        scores = np.empty((len(queries), len(candidates)))
        for query, row in zip(queries, scores, strict=True):
            position, bump, low, high, other_low, other_high = np.split(query, 6)
            distance = self._distance(position, bumps, low, high)
            row[:] = -distance - self._distance(bump, positions, other_low, other_high)
        return scores

    def _distance(
        self, move: Float64Array, points: Float64Array, low: Float64Array, high: Float64Array
    ) -> Float64Array:
        """Measure how far moved points are from a box, for some points at a time; float64[point]."""
        # Numba is loaded when something is scored, not before.
        from kgeval.models.kernels import distances_from_box

        apart = np.empty(len(points))
        for part in slices(len(points), max(1, CACHED_NUMBERS // len(low))):
            moved = move + points[part]
            mapped = np.tanh(moved, out=moved) if self.tanh else moved
            distances_from_box(mapped, low, high, self.norm == 2, apart[part])
        return apart


@dataclass(frozen=True, eq=False)
class KG2E(ScoredFamily):
    """score(h, r, t) by means µ = µ_h − µ_t − µ_r and variances, stored as halves [mean | variance].

    ``kl``: −½ (Σ (σ_h + σ_t + µ²) / σ_r − log((σ_h + σ_t) / σ_r) − 1), the negative Kullback-Leibler divergence of the
    relation from the difference h − t. ``el``: Σ µ² / σ + log σ, σ = σ_h + σ_t + σ_r, PyKEEN's expected
    likelihood, with this sign and but for a constant.
    He, Liu, Ji and Zhao: Learning to Represent Knowledge Graphs with Gaussian Embedding, CIKM 2015.
    """

    formula: ClassVar[str] = "−KL(N(µ_h − µ_t, σ_h + σ_t), N(µ_r, σ_r)), or the expected likelihood"
    equal_widths: ClassVar[bool] = True
    by_dimension: ClassVar[bool] = True
    """candidates are compared as float64[dim, candidate], for compiled loops; in BoxE as float64[candidate, dim]"""

    measure: Literal["kl", "el"]
    """which of the two formulas it is"""

    def check_shapes(self) -> None:
        width = self.entity.shape[1]
        self.require(width % 2 == 0, "means and variances are stored as halves of an even width")
        for name, array in self.arrays.items():
            variances = array[:, width // 2 :]
            # NaN passes here; it shows in the scores.
            if float(variances.min(initial=1)) < LIMITS[0] or float(variances.max(initial=1)) > LIMITS[1]:
                raise CheckpointError(f"KG2E: a variance of {name!r} is not between {LIMITS[0]:g} and {LIMITS[1]:g}.")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Lay side by side the mean that a candidate should have, and the variance that is added to its own.

        For ``kl``, 1 / σ_r follows, and a number that is part of the scores of all candidates.
        """
        mean, variance = np.split(rows64(self.entity, queries.anchors), 2, axis=1)
        relation_mean, relation_variance = np.split(rows64(self.relation, queries.relations), 2, axis=1)
        mean = mean - relation_mean if queries.side == "tail" else mean + relation_mean
        if self.measure == "el":
            return np.concatenate([mean, variance + relation_variance], axis=1)
        shared = dot_rows(np.log(relation_variance), np.ones_like(mean)) - mean.shape[1]
        return np.concatenate([mean, variance, 1 / relation_variance, shared[:, None]], axis=1)

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        # Numba is loaded when something is scored, not before.
        from kgeval.models.kernels import divergences

        width, kl = len(candidates) // 2, self.measure == "kl"
        means, variances, weights = (queries[:, k * width : (k + 1) * width] for k in ((0, 1, 2) if kl else (0, 1, 1)))
        sums, products = np.zeros((2, len(queries), candidates.shape[1]))
        for k in slices(width, FACTORS):
            others = candidates[:width][k], candidates[width:][k]
            divergences(means[:, k], variances[:, k], weights[:, k], *others, kl, sums, products)
            sums += (-1 if kl else 1) * np.log(products)
        return -0.5 * (sums + queries[:, -1:]) if kl else sums
