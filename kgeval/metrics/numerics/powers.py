"""Logarithms of mean powers of ranks; of small powers by the cumulants of ln j, which keep what jᵖ ≈ 1 would lose."""

from __future__ import annotations

from math import comb

import numpy as np
import numpy.typing as npt

from kgeval.arrays import Float64Array, IntArray
from kgeval.metrics.numerics.sums import mean_of_powers

Extended = npt.NDArray[np.longdouble]

ORDER = 6
"""of the last cumulant"""
SMALL = 1 / 512
"""up to this power the terms beyond ``ORDER`` are below the rounding of the others, the cumulants of ln j being at most
of the size of (m − 1)!"""


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
        # Totals in extended precision, where there is one, keep the difference of two of them exact.
        np.cumsum(powers, out=totals[1:])
        raw.append(np.where(low == high, powers[low - 1], (totals[high] - totals[low - 1]) / (high - low + 1)))
    return np.asarray(_from_raw(raw), np.float64)


def _from_raw(raw: list[Extended]) -> list[Extended]:
    """κ_m = μ'_m − Σ C(m − 1, i − 1) κ_i μ'_(m−i)."""
    found: list[Extended] = []
    for order in range(1, ORDER + 1):
        below = sum(comb(order - 1, i - 1) * found[i - 1] * raw[order - i] for i in range(1, order))
        found.append(raw[order] - below)
    return found


def log_mean_power(low: IntArray, high: IntArray, power: Float64Array) -> Float64Array:
    """Compute ln of the mean of jᵖ, j uniform on low … high, Σ κ_m pᵐ / m! for small powers; float64[interval].

    >>> log_mean_power(np.array([1]), np.array([2]), np.array([1.0]))  # ln 3/2
    array([0.40546511])
    """
    found = np.log(mean_of_powers(low, high, power))
    if (small := np.abs(power) <= SMALL).any():
        found = np.where(small, _series(cumulants(low, high), power, np.ones(ORDER)), found)
    # Where nothing ties, the power is never taken: p ln r keeps all of its digits.
    return np.where(low == high, power * np.log(low), found)


def log_relative_square(low: IntArray, high: IntArray, power: Float64Array) -> Float64Array:
    """Compute ln of (mean of j²ᵖ / squared mean of jᵖ), Σ κ_m (2ᵐ − 2) pᵐ / m! for small powers; float64[interval].

    >>> log_relative_square(np.array([1]), np.array([2]), np.array([1.0]))  # ln (5/2) / (3/2)²
    array([0.10536052])
    """
    found = np.log(mean_of_powers(low, high, 2 * power)) - 2 * np.log(mean_of_powers(low, high, power))
    if (small := np.abs(power) <= SMALL).any():
        found = np.where(small, _series(cumulants(low, high), power, np.exp2(np.arange(1.0, ORDER + 1)) - 2), found)
    return np.asarray(found, np.float64)


def _series(cumulants_of: Float64Array, power: Float64Array, factors: Float64Array) -> Float64Array:
    total = np.zeros(np.broadcast_shapes(cumulants_of[0].shape, np.shape(power)))
    for order in range(ORDER, 0, -1):  # Horner's rule
        total = (total + factors[order - 1] * cumulants_of[order - 1]) * power / order
    return total
