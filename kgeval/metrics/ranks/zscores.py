"""z-scores: how many standard deviations a metric is better than its expectation under random ranking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.metrics.metric import Metric, Undefined
from kgeval.metrics.ranks.adjusted import refuse_certainty
from kgeval.metrics.ranks.moments import GEOMETRIC_MEAN, HITS_AT_K, MEAN_RANK, MEAN_RECIPROCAL_RANK, Mean
from kgeval.metrics.ranks.ranks import Ranks


@dataclass(frozen=True)
class ZScore:
    """The function z = ±(M − E[M]) / √V[M] of a mean M of values v, with the sign for which larger is better.

    It is computed as Σ w (v − E[v]) / √(Σ w² V[v]), with weights w that sum to 1. An answer without competitors adds 0,
    whatever its weight; in the difference of two means, a large weight of such an answer would round the others away.

    >>> ranks = Ranks(np.array([0, 1, 4, 2]), np.zeros(4, int), np.array([10, 10, 20, 4]))
    >>> round(Z_MR(ranks), 12)
    1.820364109236
    """

    mean: Mean
    increasing: bool

    def __call__(self, ranks: Ranks, k: int) -> float:
        """Compute it."""
        self.refuse(ranks, k)
        deviations, largest = self._deviations(ranks, k)
        gained = float(
            ranks.normalized_weights
            / largest
            @ (self.mean.values(ranks, k) - self.mean.expected_under_random(ranks, k))
        )
        return (gained if self.increasing else -gained) / float(np.linalg.norm(deviations / largest))

    def refuse(self, ranks: Ranks, k: int) -> None:
        """Refuse ranks that leave nothing to chance.

        Raises
        ------
        Undefined
            if that is so of all that have a weight
        """
        refuse_certainty(ranks, k)
        if not self._deviations(ranks, k)[1]:
            raise Undefined("no answer with a weight had a competitor")

    @property
    def terms(self) -> tuple[Callable[[Ranks, int], Float64Array], ...]:
        """The x and y of z = M_x / √M_y: the gain over chance, and w V / Σ w, whose Σ w is that of these answers."""
        return self._gain, self._variance

    @staticmethod
    def combine(gain: Any, variance: Any) -> Any:
        """Compute z of the means of its terms: numbers, or arrays of them."""
        return gain / np.sqrt(variance)

    def _gain(self, ranks: Ranks, k: int) -> Float64Array:
        gained = self.mean.values(ranks, k) - self.mean.expected_under_random(ranks, k)
        return (gained if self.increasing else -gained) / self._deviations(ranks, k)[1]

    def _variance(self, ranks: Ranks, k: int) -> Float64Array:
        largest = self._deviations(ranks, k)[1]
        return np.asarray(ranks.normalized_weights / largest * (self.mean.variances(ranks, k) / largest), np.float64)

    def _deviations(self, ranks: Ranks, k: int) -> tuple[Float64Array, float]:
        """Compute w √V / Σ w and the largest of them; divided by it, squares of tiny weights do not underflow."""
        deviations = ranks.normalized_weights * np.sqrt(self.mean.variances(ranks, k))
        return deviations, float(deviations.max())


def z_score_of_geometric_mean(ranks: Ranks, k: int) -> float:  # noqa: ARG001
    """(E[M] − M) / √V[M], computed as (1 − M / E[M]) / √(V[M] / E[M]²) from logarithms, without cancellation."""
    refuse_certainty(ranks, 0)
    spread = np.sqrt(np.expm1(GEOMETRIC_MEAN.log_relative_square(ranks)))
    return float(-np.expm1(GEOMETRIC_MEAN.log_relative(ranks)) / spread)


_metric = partial(
    Metric,
    source="Hoyt et al., 2022",
    lowest=-np.inf,
    highest=np.inf,
    increasing=True,
    undefined="no ranks; no answer had a competitor",
)

Z_MR = _metric(
    name="z-mr",
    title="z-scored mean rank",
    formula="(E − MR) / √V, V[r] = (N² − 1) / 12",
    compute=ZScore(MEAN_RANK, increasing=False),
    synonyms=("zmr", "zamr", "z_arithmetic_mean_rank"),
)

Z_MRR = _metric(
    name="z-mrr",
    title="z-scored mean reciprocal rank",
    formula="(MRR − E) / √V, V[1/r] = (N H₂(N) − H(N)²) / N²",
    compute=ZScore(MEAN_RECIPROCAL_RANK, increasing=True),
    synonyms=("zmrr", "zihmr", "z_inverse_harmonic_mean_rank"),
)

Z_HITS = _metric(
    name="z-hits",
    title="z-scored hits at k",
    formula="(Hits@k − E) / √V, V[r ≤ k] = p (1 − p), p = min(k / N, 1)",
    compute=ZScore(HITS_AT_K, increasing=True),
    cutoff="required",
    synonyms=("zh", "zhits", "z_hits_at_{k}"),
    undefined="no ranks; no answer had more than k candidates",
)

Z_GMR = _metric(
    name="z-gmr",
    title="z-scored geometric mean rank",
    formula="(E − GMR) / √V, V = Π (Σ j^(2/n) / N) − E²",
    compute=z_score_of_geometric_mean,
    synonyms=("zgmr", "z_geometric_mean_rank"),
)
