"""The distances of points from boxes, compiled: elementwise operations and sums in the order of ``ordered_sum``."""

from __future__ import annotations

import numpy as np

from kgeval.compiling import njit
from kgeval.scorers.numerics.ordered_sum_kernel import sum_in_lanes


@njit(cache=True, nogil=True, error_model="numpy")
def distances_from_box(points, low, high, euclidean, out):  # type: ignore[no-untyped-def]
    """Write the norm of BoxE's D of each point (float64[point, dim]) and one box, in ``out`` (float64[point])."""
    width = high - low
    centre, stretch = 0.5 * (low + high), width + 1
    shift = 0.5 * width * (width + 1 - 1 / (width + 1))
    terms = np.empty(len(low))
    for point in range(len(points)):
        _fill_terms(points[point], low, high, centre, stretch, shift, terms)
        if euclidean:
            for k in range(len(terms)):
                terms[k] = terms[k] * terms[k]
            out[point] = np.sqrt(sum_in_lanes(terms))
        else:
            out[point] = sum_in_lanes(terms)


@njit(cache=True, error_model="numpy")
def _fill_terms(point, low, high, centre, stretch, shift, terms):  # type: ignore[no-untyped-def]
    for k in range(len(terms)):
        away = abs(point[k] - centre[k])
        inside, outside = away / stretch[k], away * stretch[k] - shift[k]
        terms[k] = inside if (point[k] >= low[k]) & (point[k] <= high[k]) else outside
