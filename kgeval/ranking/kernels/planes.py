"""Vectors rounded to two planes of eight bits, with the norms of what that loses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.compiling import njit
from kgeval.ranking.kernels.rounding import ROWS
from kgeval.threads import parallel_for

LARGEST_NUMBER = 127 * 256 + 127
"""of two planes, v = 256 v₁ + v₂, of which v₁ stays within ± 127"""


@dataclass(frozen=True, eq=False)
class Planes:
    """Vectors v ≈ scale (256 upper + lower)."""

    upper: np.ndarray[Any, Any]
    """int8[row, dim]"""
    lower: np.ndarray[Any, Any]
    """int8[row, dim]"""
    scales: np.ndarray[Any, Any]
    """float32[row]"""
    rounding_errors: Float64Array
    """float64[row], the norm of the difference from the exact vector"""
    lower_norms: Float64Array
    """float64[row], the norm of the lower plane, scaled"""


def round_to_planes(vectors: FloatArray, order: IntArray) -> Planes:
    """Round rows, taken in some order."""
    shape = (len(order), vectors.shape[1])
    upper, lower, scales = np.empty(shape, np.int8), np.empty(shape, np.int8), np.empty(len(order), np.float32)
    errors, lower_norms = np.empty(len(order)), np.empty(len(order))

    def round_part(part: slice) -> None:
        planes = upper[part], lower[part], scales[part]
        _round(vectors, order[part], planes, errors[part], lower_norms[part])

    parallel_for(round_part, len(order), ROWS)
    return Planes(upper, lower, scales, errors, lower_norms)


@njit(cache=True, nogil=True)
def _round(vectors, order, planes, errors, lower_norms):  # type: ignore[no-untyped-def]
    upper, lower, scales = planes
    for row in range(len(order)):
        vector = vectors[order[row]]
        largest = 0.0
        for value in vector:
            largest = max(largest, abs(np.float64(value)))
        scales[row] = np.float32(largest / LARGEST_NUMBER)
        scale = np.float64(scales[row])
        inverse = 1 / scale if scale > 0 else 0.0
        lost, low = 0.0, 0.0
        for k in range(len(vector)):
            number = np.int32(min(max(np.rint(np.float64(vector[k]) * inverse), -LARGEST_NUMBER), LARGEST_NUMBER))
            upper[row, k] = (number + 128) >> 8
            lower[row, k] = number - (((number + 128) >> 8) << 8)
            rest = np.float64(vector[k]) - scale * number
            lost += rest * rest
            low += np.float64(lower[row, k]) * np.float64(lower[row, k])
        errors[row], lower_norms[row] = np.sqrt(lost), scale * np.sqrt(low)
