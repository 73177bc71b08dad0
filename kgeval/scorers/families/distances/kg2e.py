"""KG2E: the difference of two Gaussian distributions agrees with that of the relation (He et al., 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.data.queries import Queries
from kgeval.errors import CheckpointError
from kgeval.scorers.block import ScoredFamily
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.ordered import dot_rows
from kgeval.threads import slices

LIMITS = (1e-6, 1e9)
"""the variances that are scored: far beyond those that training leaves"""

FACTORS = 32
"""variances that are multiplied before a logarithm is taken: within 1e-6 and 3e9 each, their product is a number"""


@dataclass(frozen=True, eq=False)
class KG2E(ScoredFamily):
    """score(h, r, t) by means µ = µ_h − µ_t − µ_r and variances, stored as halves [mean | variance].

    ``kl``: −½ (Σ (σ_h + σ_t + µ²) / σ_r − log((σ_h + σ_t) / σ_r) − 1), the negative Kullback-Leibler divergence of the
    relation from the difference h − t. ``el``: Σ µ² / σ + log σ, σ = σ_h + σ_t + σ_r, PyKEEN's expected
    likelihood, with this sign and but for a constant.
    He, Liu, Ji and Zhao: Learning to Represent Knowledge Graphs with Gaussian Embedding, CIKM 2015.
    """

    name: ClassVar[str] = "KG2E"
    formula: ClassVar[str] = "−KL(N(µ_h − µ_t, σ_h + σ_t), N(µ_r, σ_r)), or the expected likelihood"
    equal_widths: ClassVar[bool] = True
    by_dimension: ClassVar[bool] = True

    measure: Literal["kl", "el"]
    """which of the two"""

    def __post_init__(self) -> None:
        super().__post_init__()
        width = self.entity.shape[1]
        self.require(width % 2 == 0, "means and variances are stored as halves of an even width")
        for name, array in self.arrays.items():
            variances = array[:, width // 2 :]
            # What is no number shows in the scores.
            if float(variances.min(initial=1)) < LIMITS[0] or float(variances.max(initial=1)) > LIMITS[1]:
                raise CheckpointError(f"KG2E: a variance of {name!r} is not between {LIMITS[0]:g} and {LIMITS[1]:g}.")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Lay the mean that a candidate's should have, and the variance that its is added to, side by side.

        For ``kl``, 1 / σ_r follows, and what the scores of all candidates share.
        """
        mean, variance = np.split(rows64(self.entity, queries.anchors), 2, axis=1)
        relation_mean, relation_variance = np.split(rows64(self.relation, queries.relations), 2, axis=1)
        mean = mean - relation_mean if queries.side == "tail" else mean + relation_mean
        if self.measure == "el":
            return np.concatenate([mean, variance + relation_variance], axis=1)
        shared = dot_rows(np.log(relation_variance), np.ones_like(mean)) - mean.shape[1]
        return np.concatenate([mean, variance, 1 / relation_variance, shared[:, None]], axis=1)

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        """Measure how well distributions agree."""
        # Numba is loaded when something is scored, not before.
        from kgeval.scorers.numerics.gaussian_kernel import divergences, likelihoods

        width = len(candidates) // 2
        means, variances, weights = (queries[:, k * width : (k + 1) * width] for k in range(3))
        sums, products = np.zeros((2, len(queries), candidates.shape[1]))
        for k in slices(width, FACTORS):
            mean, variance = means[:, k], variances[:, k]
            others = candidates[:width][k], candidates[width:][k]
            if self.measure == "el":
                likelihoods(mean, variance, *others, sums, products)
                sums += np.log(products)
            else:
                divergences(mean, variance, weights[:, k], *others, sums, products)
                sums -= np.log(products)
        return sums if self.measure == "el" else -0.5 * (sums + queries[:, -1:])
