"""Logarithms of mean powers of ranks; for small powers a series of cumulants, as jᵖ ≈ 1 would lose digits."""

from __future__ import annotations

from math import comb

import numpy as np
import numpy.typing as npt

from kgeval.arrays import Float64Array, IntArray
from kgeval.metrics.numerics.sums import mean_of_powers

LongDoubleArray = npt.NDArray[np.longdouble]

ORDER = 6
"""the order of the last cumulant in the series"""
SMALL = 1 / 512
"""the largest power for which the series is used: the terms beyond ``ORDER`` are then below the rounding error of the
others, as the m-th cumulant of ln j is of the order of (m − 1)!"""


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
    return np.asarray(_from_raw(raw), np.float64)


def _from_raw(raw: list[LongDoubleArray]) -> list[LongDoubleArray]:
    """Return cumulants of raw moments: κ_m = μ'_m − Σ C(m − 1, i − 1) κ_i μ'_(m−i), i = 1 … m − 1."""
    kappa: list[LongDoubleArray] = []
    for order in range(1, ORDER + 1):
        lower = sum(comb(order - 1, i - 1) * kappa[i - 1] * raw[order - i] for i in range(1, order))
        kappa.append(raw[order] - lower)
    return kappa


def log_mean_power(low: IntArray, high: IntArray, power: Float64Array) -> Float64Array:
    """Compute ln of the mean of jᵖ, j uniform on low … high, Σ κ_m pᵐ / m! for small powers; float64[interval].

    >>> log_mean_power(np.array([1]), np.array([2]), np.array([1.0]))  # ln 3/2
    array([0.40546511])
    """
    logs = np.log(mean_of_powers(low, high, power))
    if (small := np.abs(power) <= SMALL).any():
        logs = np.where(small, _series(cumulants(low, high), power, np.ones(ORDER)), logs)
    # Without ties, the logarithm is p ln r, which needs no power.
    return np.where(low == high, power * np.log(low), logs)


def log_relative_square(low: IntArray, high: IntArray, power: Float64Array) -> Float64Array:
    """Compute ln of (mean of j²ᵖ / squared mean of jᵖ), Σ κ_m (2ᵐ − 2) pᵐ / m! for small powers; float64[interval].

    >>> log_relative_square(np.array([1]), np.array([2]), np.array([1.0]))  # ln (5/2) / (3/2)²
    array([0.10536052])
    """
    logs = np.log(mean_of_powers(low, high, 2 * power)) - 2 * np.log(mean_of_powers(low, high, power))
    if (small := np.abs(power) <= SMALL).any():
        logs = np.where(small, _series(cumulants(low, high), power, np.exp2(np.arange(1.0, ORDER + 1)) - 2), logs)
    return np.asarray(logs, np.float64)


def _series(kappa: Float64Array, power: Float64Array, factors: Float64Array) -> Float64Array:
    """Σ f_m κ_m pᵐ / m! by Horner's rule, m = 1 … 6."""
    total = np.zeros(np.broadcast_shapes(kappa[0].shape, np.shape(power)))
    for order in range(ORDER, 0, -1):
        total = (total + factors[order - 1] * kappa[order - 1]) * power / order
    return total
