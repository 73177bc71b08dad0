"""Moments of means of ranks: their expectation over ties, and their expectation and variance under random ranking.

``rank_metrics.py`` makes metrics, adjusted indices and z-scores of the means that are declared here: the mean rank, the
mean reciprocal rank, hits at k and the geometric mean. The functions below compute sums and means of a function of a
rank over an interval low … high. Each result is exact to the rounding of its own size, since the sum over a small range
is not computed as a difference of large totals.

Under random ranking the rank of an answer among N candidates, itself included, is uniform on 1 … N, independently of
the others (Berrendorf et al., 2020; Hoyt et al., 2022). A tie makes the rank uniform on an interval, so that the same
functions compute its expectation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.data.queries import starts_of_runs
from kgeval.metrics.ranks.ranks import Ranks, Rows
from kgeval.metrics.ranks.ties import EXPECTED

SERIES_FROM = 16
"""the rank from which on the asymptotic series below are exact in float64"""

ORDER = 6
"""the order of the last cumulant in the series"""

SMALL_POWER = 1 / 512
"""the largest power for which the series is used: the terms beyond ``ORDER`` are then below the rounding error of the
others, as the m-th cumulant of ln j is of the order of (m − 1)!"""

MOST_NODES = 1000
"""the most nodes of a quadrature, whose computation takes the square of their number"""


Decay = Callable[[npt.NDArray[np.longdouble]], npt.NDArray[np.longdouble]]
"""places -> how much each place counts, such as the discount of DCG; [place] both"""


@dataclass(frozen=True)
class Mean:
    """The (weighted) mean of a function of each rank.

    Under random ranking, its expectation is Σ w E_i / W and its variance Σ w² V_i / W², with W = Σ w; E_i and V_i are
    the expectation and the variance of the function of rank i.
    """

    of: Callable[[Float64Array, int], Float64Array]
    """(rank, k) -> the function of the rank"""
    mean: Callable[[IntArray, IntArray, int], Float64Array]
    """(low, high, k) -> the mean of the function over low … high"""
    variance: Callable[[IntArray, int], Float64Array]
    """(N, k) -> the variance of the function over 1 … N"""

    def values(self, ranks: Ranks, k: int) -> Float64Array:
        """Compute the function of each rank; with expected ties, its exact expectation; float64[row]."""
        if ranks.policy is EXPECTED:
            return self.mean(ranks.optimistic, ranks.pessimistic, k)
        return self.of(ranks.values, k)

    def expected_under_random(self, ranks: Ranks, k: int) -> Float64Array:
        """Compute E_i under random ranking, NaN for an answer without any candidate; float64[row]."""
        sizes, rows = ranks.sizes
        some = np.maximum(sizes, 1)
        return np.where(sizes < 1, np.nan, self.mean(np.ones_like(some), some, k))[rows]

    def expectation(self, ranks: Ranks, k: int) -> float:
        return ranks.mean(self.expected_under_random(ranks, k))

    def variances(self, ranks: Ranks, k: int) -> Float64Array:
        """Compute V_i under random ranking; float64[row]."""
        sizes, rows = ranks.sizes
        return self.variance(sizes, k)[rows]


@dataclass(frozen=True)
class GeometricMean:
    """The geometric mean Π r^(w/W), W = Σ w, or its inverse.

    Random ranks are independent, so the moments of the mean are products of the moments of each r^(w/W).
    """

    power: int = 1
    """1, or −1 for the inverse"""

    def value(self, ranks: Ranks, k: int) -> float:
        return float(np.exp(self._log_value(ranks)))

    def log_relative_square(self, ranks: Ranks) -> float:
        """Compute ln(E[M²] / E[M]²) of the mean M under random ranking, accurate also near 0."""
        return self._total(ranks, np.ones_like(ranks.candidates), ranks.candidates, log_relative_square)

    def log_relative(self, ranks: Ranks) -> float:
        return self._log_value(ranks) - self.log_expectation(ranks)

    def _log_value(self, ranks: Ranks) -> float:
        if ranks.policy is EXPECTED:
            return self._total(ranks, ranks.optimistic, ranks.pessimistic, log_mean_power)
        return self.power * ranks.mean(np.log(ranks.values))

    def log_expectation(self, ranks: Ranks) -> float:
        return self._total(ranks, np.ones_like(ranks.candidates), ranks.candidates, log_mean_power)

    def _total(
        self,
        ranks: Ranks,
        low: IntArray,
        high: IntArray,
        term: Callable[[IntArray, IntArray, Float64Array], Float64Array],
    ) -> float:
        """Sum ``term`` over the rows: a function of a row's interval low … high and of the power of its rank, ±w/W."""
        powers = self.power * ranks.normalized_weights
        if ranks.weights is not None:
            return float(np.sum(term(low, high, powers)))
        base = int(high.max(initial=0)) + 1
        spans, counts = np.unique(low * base + high, return_counts=True)
        return float(counts @ term(spans // base, spans % base, powers[:1]))


def _reciprocal_variance(count: IntArray, _: int) -> Float64Array:
    mean = sum_of_reciprocals(np.ones_like(count), count) / count
    # With one candidate the variance is exactly 0: a rounding error would be multiplied by a weight of any size.
    return np.where(count == 1, 0.0, sum_of_inverse_squares(count) / count - mean**2)


MEAN_RANK = Mean(
    of=lambda rank, _: rank,
    mean=lambda low, high, _: (low + high) / 2,
    variance=lambda count, _: (count.astype(float) ** 2 - 1) / 12,
)

MEAN_RECIPROCAL_RANK = Mean(
    of=lambda rank, _: 1 / rank,
    mean=lambda low, high, _: sum_of_reciprocals(low, high) / (high - low + 1),
    variance=_reciprocal_variance,
)

HITS_AT_K = Mean(
    of=lambda rank, k: (rank <= k).astype(np.float64),
    mean=lambda low, high, k: np.clip((k - low + 1) / (high - low + 1), 0.0, 1.0),
    variance=lambda count, k: np.minimum(k / count, 1.0) * np.maximum(1 - k / count, 0.0),
)

GEOMETRIC_MEAN, INVERSE_GEOMETRIC_MEAN = GeometricMean(), GeometricMean(power=-1)


def mean_of_polynomials(
    of: Callable[[Float64Array, Rows], Float64Array], degree: int, low: IntArray, high: IntArray
) -> Float64Array:
    """The mean over low … high of a polynomial, another one in each row; float64[row].

    ``of(ranks, rows)`` computes the polynomials of the rows at these ranks; ``degree`` is their degree.

    >>> mean_of_polynomials(lambda rank, rows: rank**3, 3, np.array([1, 2]), np.array([4, 2]))  # (1 + 8 + 27 + 64) / 4
    array([25.,  8.])
    """
    lengths, means = high - low + 1, np.zeros(len(low))
    order = np.argsort(lengths, kind="stable")
    for rows in np.split(order, starts_of_runs(lengths[order]))[1:]:
        for step, weight in zip(*_nodes(int(lengths[rows[0]]), degree // 2 + 1), strict=True):
            means[rows] += weight * of(low[rows] + step, rows)
    return means


def _nodes(length: int, count: int) -> tuple[Float64Array, Float64Array]:
    """Return the nodes and weights of Gauss's quadrature for the mean over 0 … length − 1; float64[node] each.

    It is exact for degrees below 2 count. The nodes are the eigenvalues of the recurrence of discrete Chebyshev
    polynomials (Golub and Welsch, 1969; Gautschi, 2004); where they would be too many, each position is a node.
    """
    from scipy.linalg import eigh_tridiagonal

    if length <= count or count > MOST_NODES:
        return np.arange(length, dtype=np.float64), np.full(length, 1 / length)
    squares = np.arange(1.0, count) ** 2
    beside = np.sqrt(squares * (float(length) ** 2 - squares) / (4 * (4 * squares - 1)))
    steps, vectors = eigh_tridiagonal(np.full(count, (length - 1) / 2), beside)
    return np.clip(steps, 0, length - 1), vectors[0] ** 2


def sum_of_reciprocals(low: IntArray, high: IntArray) -> Float64Array:
    """Σ 1/j over low … high, which is H(high) − H(low − 1), H the harmonic numbers; float64[interval]."""
    from scipy.special import digamma

    start, stop = low.astype(float), high + 1.0
    near = digamma(stop) - digamma(start)
    # ψ(b) − ψ(a) term by term, for large a: ln(b/a) + (1/a − 1/b)/2 + (1/a² − 1/b²)/12 − (1/a⁴ − 1/b⁴)/120 + …
    step = stop - start
    reciprocal = step / (start * stop)  # 1/a − 1/b
    squares = reciprocal * (1 / start + 1 / stop)  # 1/a² − 1/b²
    fourths = squares * (1 / start**2 + 1 / stop**2)  # 1/a⁴ − 1/b⁴
    sixths = start**-6 - stop**-6
    far = np.log1p(step / start) + reciprocal / 2 + squares / 12 - fourths / 120 + sixths / 252
    return np.where(low == high, 1 / start, np.where(start < SERIES_FROM, near, far))


def sum_of_inverse_squares(count: IntArray) -> Float64Array:
    """Σ 1/j² over 1 … count; float64[row]."""
    from scipy.special import zeta

    return np.asarray(np.pi**2 / 6 - zeta(2, count + 1.0), np.float64)


def sums_over_places(of: Decay, low: IntArray, high: IntArray) -> Float64Array:
    """Sum a function of the place over low … high, such as the discounts of DCG; 0 where the range is empty."""
    last = int(high.max(initial=0))
    # Totals in extended precision, where there is one, keep the difference of two of them exact.
    totals = np.zeros(last + 1, np.longdouble)
    np.cumsum(of(np.arange(1, last + 1, dtype=np.longdouble)), out=totals[1:])
    return np.asarray(totals[np.maximum(high, low - 1)] - totals[low - 1], np.float64)


def mean_of_powers(low: IntArray, high: IntArray, power: npt.ArrayLike) -> Float64Array:
    """The mean of jᵖ over low … high, by the Euler–Maclaurin formula beyond the first few terms; float64[interval]."""
    p = np.asarray(power, np.float64)
    total = np.zeros(len(low))
    for position in range(1, SERIES_FROM):
        total += np.where((low <= position) & (position <= high), np.power(float(position), p), 0.0)
    a, b = np.maximum(low, SERIES_FROM).astype(float), np.maximum(high, SERIES_FROM).astype(float)

    def rise(exponent: Float64Array) -> Float64Array:
        """bᵉ − aᵉ without cancellation."""
        return np.asarray(a**exponent * np.expm1(exponent * np.log1p((b - a) / a)), np.float64)

    # The integral; where p = −1 it is the logarithm.
    flat = p == -1
    integral = np.where(flat, np.log(b / a), rise(p + 1) / np.where(flat, 1, p + 1))
    ends = (a**p + b**p) / 2
    third, fifth = p * (p - 1) * (p - 2), p * (p - 1) * (p - 2) * (p - 3) * (p - 4)
    tail = integral + ends + p / 12 * rise(p - 1) - third / 720 * rise(p - 3) + fifth / 30240 * rise(p - 5)
    return np.asarray((total + np.where(high >= SERIES_FROM, tail, 0.0)) / (high - low + 1), np.float64)


def log_mean_power(low: IntArray, high: IntArray, power: Float64Array) -> Float64Array:
    """Compute ln of the mean of jᵖ, j uniform on low … high, Σ κ_m pᵐ / m! for small powers; float64[interval].

    >>> log_mean_power(np.array([1]), np.array([2]), np.array([1.0]))  # ln 3/2
    array([0.40546511])
    """
    logs = np.log(mean_of_powers(low, high, power))
    if (small := np.abs(power) <= SMALL_POWER).any():
        logs = np.where(small, _series(cumulants(low, high), power, np.ones(ORDER)), logs)
    # Without ties, the logarithm is p ln r, which needs no power.
    return np.where(low == high, power * np.log(low), logs)


def log_relative_square(low: IntArray, high: IntArray, power: Float64Array) -> Float64Array:
    """Compute ln of (mean of j²ᵖ / squared mean of jᵖ), Σ κ_m (2ᵐ − 2) pᵐ / m! for small powers; float64[interval].

    >>> log_relative_square(np.array([1]), np.array([2]), np.array([1.0]))  # ln (5/2) / (3/2)²
    array([0.10536052])
    """
    logs = np.log(mean_of_powers(low, high, 2 * power)) - 2 * np.log(mean_of_powers(low, high, power))
    if (small := np.abs(power) <= SMALL_POWER).any():
        logs = np.where(small, _series(cumulants(low, high), power, np.exp2(np.arange(1.0, ORDER + 1)) - 2), logs)
    return np.asarray(logs, np.float64)


def cumulants(low: IntArray, high: IntArray) -> Float64Array:
    """The cumulants κ₁ … κ₆ of ln j, j uniform on low … high; float64[order, interval].

    >>> cumulants(np.array([1, 3]), np.array([2, 3]))[:2]  # κ₁ = ln 2 / 2, ln 3; κ₂ = (ln 2)² / 4, 0
    array([[0.34657359, 1.09861229],
           [0.12011325, 0.        ]])
    """
    logs = np.log(np.arange(1, int(high.max(initial=1)) + 1, dtype=np.longdouble))
    raw = [np.ones(len(low), np.longdouble)]
    powers, totals = np.ones_like(logs), np.zeros(len(logs) + 1, np.longdouble)
    for _ in range(ORDER):
        powers *= logs
        # In extended precision (where the platform has it), the difference of two totals loses no digit of float64.
        np.cumsum(powers, out=totals[1:])
        raw.append(np.where(low == high, powers[low - 1], (totals[high] - totals[low - 1]) / (high - low + 1)))
    # Of raw moments: κ_m = μ'_m − Σ C(m − 1, i − 1) κ_i μ'_(m−i), i = 1 … m − 1.
    kappa: list[npt.NDArray[np.longdouble]] = []
    for order in range(1, ORDER + 1):
        lower = sum(comb(order - 1, i - 1) * kappa[i - 1] * raw[order - i] for i in range(1, order))
        kappa.append(raw[order] - lower)
    return np.asarray(kappa, np.float64)


def _series(kappa: Float64Array, power: Float64Array, factors: Float64Array) -> Float64Array:
    """Σ f_m κ_m pᵐ / m! by Horner's rule, m = 1 … 6."""
    total = np.zeros(np.broadcast_shapes(kappa[0].shape, np.shape(power)))
    for order in range(ORDER, 0, -1):
        total = (total + factors[order - 1] * kappa[order - 1]) * power / order
    return total
