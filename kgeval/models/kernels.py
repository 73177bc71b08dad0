"""The loops of model families that numba compiles: elementwise operations, added in one order, which numba keeps.

``compare`` of a family calls them; ``ordered.py`` calls ``multiply_rows``. ``queries`` are float64[query, dim], and
``others`` (the candidates) float64[dim, other]; the results are written into ``out``, ``sums`` and ``products``,
float64[query, other]. A sum goes from the first dimension to the last. Logarithms are left to numpy: numba's may differ
between the body of a loop and its end, where Intel's vector library is installed.
"""

from __future__ import annotations

import numpy as np

from kgeval.base.compiling import njit
from kgeval.models.similarity import LANES

TOGETHER = 16
"""the number of rows that ``multiply_rows`` takes at a time: for all of them, a row of the matrix stays in cache"""


@njit(cache=True)
def sum_in_lanes(terms):  # type: ignore[no-untyped-def]
    """Sum terms in eight lanes: lane l adds the terms l, l + 8, …; then the lanes are added from first to last."""
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    whole = len(terms) - len(terms) % LANES
    for k in range(0, whole, LANES):
        s0 += terms[k]
        s1 += terms[k + 1]
        s2 += terms[k + 2]
        s3 += terms[k + 3]
        s4 += terms[k + 4]
        s5 += terms[k + 5]
        s6 += terms[k + 6]
        s7 += terms[k + 7]
    rest = len(terms) - whole
    s0 += terms[whole] if rest > 0 else 0.0
    s1 += terms[whole + 1] if rest > 1 else 0.0
    s2 += terms[whole + 2] if rest > 2 else 0.0
    s3 += terms[whole + 3] if rest > 3 else 0.0
    s4 += terms[whole + 4] if rest > 4 else 0.0
    s5 += terms[whole + 5] if rest > 5 else 0.0
    s6 += terms[whole + 6] if rest > 6 else 0.0
    return ((((((s0 + s1) + s2) + s3) + s4) + s5) + s6) + s7


@njit(cache=True, nogil=True)
def multiply_rows(vectors, matrix, out):  # type: ignore[no-untyped-def]
    """Write Σ_k vectors[:, k] matrix[k] into ``out``, summed from the first k to the last, for some rows at a time."""
    for first in range(0, len(vectors), TOGETHER):
        rows = vectors[first : first + TOGETHER]
        for row in range(len(rows)):
            for column in range(matrix.shape[1]):
                out[first + row, column] = rows[row, 0] * matrix[0, column]
        for k in range(1, len(matrix)):
            terms = matrix[k]
            for row in range(len(rows)):
                weight, total = rows[row, k], out[first + row]
                for column in range(len(terms)):
                    total[column] += weight * terms[column]


@njit(cache=True, nogil=True)
def sum_units(queries, others, weights, out):  # type: ignore[no-untyped-def]
    """Write Σ_k weights[k] relu(query[k] + other[k]) of each pair of query and other."""
    for row in range(len(queries)):
        total = out[row]
        total[:] = 0.0
        for k in range(len(others)):
            here, there, weight = queries[row, k], others[k], weights[k]
            for column in range(len(total)):
                total[column] += weight * max(here + there[column], 0.0)


@njit(cache=True, nogil=True)
def sum_filters(queries, others, slopes, weights, out):  # type: ignore[no-untyped-def]
    """Write Σ_k Σ_f weights[k, f] relu(query[k, f] + slopes[f] other[k]) of each pair of query and other.

    ``queries`` are float64[query, dim × filter].
    """
    for row in range(len(queries)):
        total = out[row]
        total[:] = 0.0
        for k in range(len(others)):
            there = others[k]
            for f in range(len(slopes)):
                here, slope, weight = queries[row, k * len(slopes) + f], slopes[f], weights[k, f]
                for column in range(len(total)):
                    total[column] += weight * max(here + slope * there[column], 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def distances_from_box(points, low, high, euclidean, out):  # type: ignore[no-untyped-def]
    """Write the norm of D (of ``BoxE``) for each point (float64[point, dim]) and one box into float64[point]."""
    width = high - low
    centre, stretch = 0.5 * (low + high), width + 1
    shift = 0.5 * width * (width + 1 - 1 / (width + 1))
    terms = np.empty(len(low))
    for point in range(len(points)):
        for k in range(len(terms)):
            away = abs(points[point, k] - centre[k])
            within = (points[point, k] >= low[k]) & (points[point, k] <= high[k])
            inside, outside = away / stretch[k], away * stretch[k] - shift[k]
            distance = inside if within else outside
            terms[k] = distance * distance if euclidean else distance
        total = sum_in_lanes(terms)
        out[point] = np.sqrt(total) if euclidean else total


@njit(cache=True, nogil=True)
def divergences(means, variances, weights, other_means, other_variances, kl, sums, products):  # type: ignore[no-untyped-def]
    """Add Σ w (v + v' + (m − m')²) to ``sums``, and write Π (v + v') into ``products``, for each query and other.

    A query has means m, variances v and weights w; an other has means m' and variances v'. Unless ``kl``,
    Σ (m − m')² / (v + v') is added instead.
    """
    for row in range(len(means)):
        total, product = sums[row], products[row]
        product[:] = 1.0
        for k in range(len(other_means)):
            mean, variance, weight = means[row, k], variances[row, k], weights[row, k]
            other_mean, other_variance = other_means[k], other_variances[k]
            for column in range(len(total)):
                apart, joint = mean - other_mean[column], variance + other_variance[column]
                product[column] *= joint
                total[column] += weight * (joint + apart * apart) if kl else apart * apart / joint


@njit(cache=True, nogil=True)
def distances_on_torus(queries, points, euclidean, out):  # type: ignore[no-untyped-def]
    """Write the norm of query − point of each pair, where each difference counts from the nearest whole number."""
    for row in range(len(queries)):
        total = out[row]
        total[:] = 0.0
        for k in range(len(points)):
            here, there = queries[row, k], points[k]
            for column in range(len(total)):
                apart = here - there[column]
                apart = abs(apart - np.rint(apart))
                total[column] += apart * apart if euclidean else apart
        if euclidean:
            total[:] = np.sqrt(total)
