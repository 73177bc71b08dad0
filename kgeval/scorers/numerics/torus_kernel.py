"""Distances on a torus, compiled: elementwise operations, summed from the first dimension to the last."""

from __future__ import annotations

import numpy as np

from kgeval.compiling import njit


@njit(cache=True, nogil=True)
def distances_on_torus(queries, points, euclidean, out):  # type: ignore[no-untyped-def]
    """Write the norm of how far query and point are apart, whole turns not counted.

    Queries are float64[query, dim], points float64[dim, point], ``out`` is float64[query, point].
    """
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
            for column in range(len(total)):
                total[column] = np.sqrt(total[column])
