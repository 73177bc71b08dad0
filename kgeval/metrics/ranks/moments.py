"""Moments of means of ranks: their expectation over ties, and their expectation and variance under random ranking.

Under random ranking the rank of an answer among N candidates, itself included, is uniform on 1 … N, independently of
the others (Berrendorf et al., 2020; Hoyt et al., 2022). A tie makes it uniform on an interval: the same expectation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.metrics.numerics.powers import log_mean_power, log_relative_square
from kgeval.metrics.numerics.sums import sum_of_inverse_squares, sum_of_reciprocals
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.metrics.ranks.ties import EXPECTED


@dataclass(frozen=True)
class RankFunction:
    """A function of one rank, with its moments over intervals of ranks."""

    of: Callable[[Float64Array, int], Float64Array]
    """(rank, k)"""
    mean: Callable[[IntArray, IntArray, int], Float64Array]
    """(low, high, k) -> its mean over low … high"""
    variance: Callable[[IntArray, int], Float64Array]
    """(N, k) -> its variance over 1 … N"""


@dataclass(frozen=True)
class Mean:
    """The (weighted) mean of a function of each rank; under random ranking E = Σ w E_i / W and V = Σ w² V_i / W²."""

    function: RankFunction

    def values(self, ranks: Ranks, k: int) -> Float64Array:
        """Compute the function of each rank; with expected ties, its exact expectation; float64[row]."""
        if ranks.policy is EXPECTED:
            return self.function.mean(ranks.optimistic, ranks.pessimistic, k)
        return self.function.of(ranks.values, k)

    def expected_under_random(self, ranks: Ranks, k: int) -> Float64Array:
        """Compute E_i under random ranking, NaN for an answer without any candidate; float64[row]."""
        sizes, rows = ranks.sizes
        some = np.maximum(sizes, 1)
        return np.where(sizes < 1, np.nan, self.function.mean(np.ones_like(some), some, k))[rows]

    def value(self, ranks: Ranks, k: int) -> float:
        """Compute the mean; with expected ties, its exact expectation."""
        return ranks.mean(self.values(ranks, k))

    def expectation(self, ranks: Ranks, k: int) -> float:
        """Compute E under random ranking among as many candidates."""
        return ranks.mean(self.expected_under_random(ranks, k))

    def variances(self, ranks: Ranks, k: int) -> Float64Array:
        """Compute V_i under random ranking; float64[row]."""
        sizes, rows = ranks.sizes
        return self.function.variance(sizes, k)[rows]

    def variance(self, ranks: Ranks, k: int) -> float:
        """Compute V under random ranking among as many candidates."""
        return float(ranks.normalized_weights**2 @ self.variances(ranks, k))


Term = Callable[[IntArray, IntArray, Float64Array], Float64Array]
"""(low, high, power) -> a value of each interval of ranks"""


@dataclass(frozen=True)
class GeometricMean:
    """Π r^(w/W), or its inverse. The ranks are independent, so the moments are products of those of each r^(w/W)."""

    power: int = 1
    """−1 for the inverse"""

    def value(self, ranks: Ranks, k: int) -> float:
        """Compute it; with expected ties, its exact expectation."""
        if ranks.policy is EXPECTED:
            return float(np.exp(self._log_mean(ranks, ranks.optimistic, ranks.pessimistic)))
        return float(np.exp(self.power * ranks.mean(np.log(ranks.values))))

    def expectation(self, ranks: Ranks, k: int) -> float:
        """Its expectation under random ranking among as many candidates."""
        return float(np.exp(self.log_expectation(ranks)))

    def variance(self, ranks: Ranks, k: int) -> float:
        """Its variance under random ranking among as many candidates."""
        return float(self.expectation(ranks, k) ** 2 * np.expm1(self.log_relative_square(ranks)))

    def log_relative_square(self, ranks: Ranks) -> float:
        """Compute ln(E[M²] / E[M]²) of the mean M under random ranking, accurate also near 0."""
        return self._total(ranks, np.ones_like(ranks.candidates), ranks.candidates, log_relative_square)

    def log_relative(self, ranks: Ranks) -> float:
        """Compute ln(M / E[M]) of the mean M."""
        if ranks.policy is EXPECTED:
            value = self._log_mean(ranks, ranks.optimistic, ranks.pessimistic)
        else:
            value = self.power * ranks.mean(np.log(ranks.values))
        return value - self.log_expectation(ranks)

    def log_expectation(self, ranks: Ranks) -> float:
        """Compute ln E[M] under random ranking."""
        return self._log_mean(ranks, np.ones_like(ranks.candidates), ranks.candidates)

    def _log_mean(self, ranks: Ranks, low: IntArray, high: IntArray) -> float:
        """Compute ln E[M] of ranks that are uniform on intervals."""
        return self._total(ranks, low, high, log_mean_power)

    def _total(self, ranks: Ranks, low: IntArray, high: IntArray, term: Term) -> float:
        """Sum a function of each interval and of the power that its rank is taken to."""
        powers = self.power * ranks.normalized_weights
        if ranks.weights is not None:
            return float(np.sum(term(low, high, powers)))
        base = int(high.max(initial=0)) + 1
        spans, counts = np.unique(low * base + high, return_counts=True)
        return float(counts @ term(spans // base, spans % base, powers[:1]))


RANK = RankFunction(
    of=lambda rank, _: rank,
    mean=lambda low, high, _: (low + high) / 2,
    variance=lambda count, _: (count.astype(float) ** 2 - 1) / 12,
)


def _reciprocal_variance(count: IntArray, _: int) -> Float64Array:
    mean = sum_of_reciprocals(np.ones_like(count), count) / count
    # One candidate leaves nothing to chance, and exactly nothing: its weight may be larger than all others by far.
    return np.where(count == 1, 0.0, sum_of_inverse_squares(count) / count - mean**2)


RECIPROCAL = RankFunction(
    of=lambda rank, _: 1 / rank,
    mean=lambda low, high, _: sum_of_reciprocals(low, high) / (high - low + 1),
    variance=_reciprocal_variance,
)


def _hit_probability(low: IntArray, high: IntArray, k: int) -> Float64Array:
    return np.clip((k - low + 1) / (high - low + 1), 0.0, 1.0)


def _hit_variance(count: IntArray, k: int) -> Float64Array:
    probability = np.minimum(k / count, 1.0)
    return np.asarray(probability * (1 - probability), np.float64)


HIT = RankFunction(of=lambda rank, k: (rank <= k).astype(np.float64), mean=_hit_probability, variance=_hit_variance)

MEAN_RANK, MEAN_RECIPROCAL_RANK, HITS_AT_K = Mean(RANK), Mean(RECIPROCAL), Mean(HIT)
GEOMETRIC_MEAN, INVERSE_GEOMETRIC_MEAN = GeometricMean(), GeometricMean(power=-1)
