"""Sums: of functions of a rank over an interval low … high, which ties make of it, and means of groups of rows.

Each sum of an interval is exact to the rounding of its own size: no small range is the difference of two large totals.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from kgeval.arrays import Float64Array, IntArray

_SMALL = 16
"""from here on, the asymptotic series below are exact in float64"""


def sum_of_reciprocals(low: IntArray, high: IntArray) -> Float64Array:
    """Σ 1/j = H(high) − H(low − 1), H the harmonic numbers."""
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
    return np.where(low == high, 1 / start, np.where(start < _SMALL, near, far))


def sum_of_inverse_squares(count: IntArray) -> Float64Array:
    """Σ 1/j² over 1 … count."""
    from scipy.special import zeta

    return np.asarray(np.pi**2 / 6 - zeta(2, count + 1.0), np.float64)


def mean_of_powers(low: IntArray, high: IntArray, power: npt.ArrayLike) -> Float64Array:
    """The mean of jᵖ, by the Euler–Maclaurin formula beyond the first few terms."""
    p = np.asarray(power, np.float64)
    total = np.zeros(len(low))
    for position in range(1, _SMALL):
        total += np.where((low <= position) & (position <= high), np.power(float(position), p), 0.0)
    a, b = np.maximum(low, _SMALL).astype(float), np.maximum(high, _SMALL).astype(float)

    def rise(exponent: Float64Array) -> Float64Array:
        """bᵉ − aᵉ without cancellation."""
        return np.asarray(a**exponent * np.expm1(exponent * np.log1p((b - a) / a)), np.float64)

    # The integral; where p = −1 it is the logarithm.
    flat = p == -1
    integral = np.where(flat, np.log(b / a), rise(p + 1) / np.where(flat, 1, p + 1))
    ends = (a**p + b**p) / 2
    third, fifth = p * (p - 1) * (p - 2), p * (p - 1) * (p - 2) * (p - 3) * (p - 4)
    tail = integral + ends + p / 12 * rise(p - 1) - third / 720 * rise(p - 3) + fifth / 30240 * rise(p - 5)
    return np.asarray((total + np.where(high >= _SMALL, tail, 0.0)) / (high - low + 1), np.float64)


def sum_of_discounts(low: IntArray, high: IntArray) -> Float64Array:
    """Σ 1/log₂(j + 1), the discounts of DCG; 0 where the range is empty."""
    last = int(high.max(initial=0))
    # Totals in extended precision, where there is one, keep the difference of two of them exact.
    totals = np.zeros(last + 1, np.longdouble)
    np.cumsum(1 / np.log2(np.arange(2, last + 2, dtype=np.longdouble)), out=totals[1:])
    return np.asarray(totals[np.maximum(high, low - 1)] - totals[low - 1], np.float64)


def numbered(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different values (int64[value]) and the number of each row's (int64[row]).

    >>> numbered(np.array([7, 2, 7]))
    (array([2, 7]), array([1, 0, 1]))
    """
    # Counting is many times faster than sorting.
    if len(values) and int(values.min()) >= 0 and int(values.max()) < 4 * len(values):
        present = np.bincount(values) > 0
        return np.flatnonzero(present), (np.cumsum(present) - 1)[values]
    distinct, rows = np.unique(values, return_inverse=True)
    return distinct, rows


@runtime_checkable
class OfGroups(Protocol):
    """What computes a metric also for many groups at once."""

    def of_groups(self, data: Any, starts: IntArray, k: int) -> npt.NDArray[Any]:
        """Compute it for each of the groups that begin at some rows, or lists; [group].

        It is not finite where the metric is undefined.
        """


def means_of_groups(values: Float64Array, starts: IntArray, weights: Float64Array | None = None) -> Float64Array:
    """Compute the weighted mean of each group; float64[group], NaN where nothing in it has a weight.

    >>> means_of_groups(np.array([1.0, 2.0, 6.0]), np.array([0, 2]))
    array([1.5, 6. ])
    """
    sizes = np.diff(np.r_[starts, len(values)])
    if weights is None:
        return np.asarray(np.add.reduceat(values, starts) / sizes, np.float64)
    # Normalise first: a large weight times a large value may overflow.
    totals = np.repeat(np.add.reduceat(weights, starts), sizes)
    normalized = np.divide(weights, totals, out=np.full(len(values), np.nan), where=totals > 0)
    return np.asarray(np.add.reduceat(normalized * values, starts), np.float64)
