"""Sums of weighted relu, compiled: of hidden units, and of filters that see one dimension at a time.

Queries are float64[query, dim], others float64[dim, other], ``out`` is float64[query, other]. A sum goes from the first
dimension to the last.
"""

from __future__ import annotations

from kgeval.compiling import njit


@njit(cache=True, nogil=True)
def sum_units(queries, others, weights, out):  # type: ignore[no-untyped-def]
    """Write Σ_k weights[k] relu(query[k] + other[k]) of each pair."""
    for row in range(len(queries)):
        total = out[row]
        total[:] = 0.0
        for k in range(len(others)):
            here, there, weight = queries[row, k], others[k], weights[k]
            for column in range(len(total)):
                total[column] += weight * max(here + there[column], 0.0)


@njit(cache=True, nogil=True)
def sum_filters(queries, others, slopes, weights, out):  # type: ignore[no-untyped-def]
    """Write Σ_k Σ_f weights[k, f] relu(query[k, f] + slopes[f] other[k]) of each pair; float64[query, dim × filter]."""
    for row in range(len(queries)):
        total = out[row]
        total[:] = 0.0
        for k in range(len(others)):
            there = others[k]
            for f in range(len(slopes)):
                here, slope, weight = queries[row, k * len(slopes) + f], slopes[f], weights[k, f]
                for column in range(len(total)):
                    total[column] += weight * max(here + slope * there[column], 0.0)
