"""Vectors rounded to low precision, with the norm of each and of its rounding error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.compiling import njit
from kgeval.ranking.plan import FloatPrecision
from kgeval.threads import parallel_for

U32, U64 = 2.0**-24, 2.0**-53


def canonical_growth(dim: int) -> float:
    """Bound what rounding in float64 may change in two scores of a pair, in parts of the sizes that are added up."""
    return (2 * dim + 64) * U64


def growth(terms: int, unit: float) -> float:
    """Bound what rounding changes in a sum of products, γ(n) = n u / (1 − n u), in parts of the sizes of its terms.

    In any order of summation, with or without fused operations (Higham, 2002, section 3.1).
    """
    return terms * unit / (1 - terms * unit)


SPARE = 3
"""columns beside the dimensions: a number in float32 is the sum of three in bfloat16"""

ROWS = 2048
"""vectors that a thread takes at a time"""


@dataclass(frozen=True, eq=False)
class Rounded:
    """Vectors in low precision, with columns to spare for what is added to their products."""

    vectors: np.ndarray[Any, Any]
    """[row, dim + SPARE], float32, or the bits of bfloat16 in uint16; the last columns are ones"""
    rounding_errors: Float64Array
    """float64[row], the norm of the difference from the exact vector"""

    def add(self, column: Float64Array) -> Float64Array:
        """Put a number (float64[row]) into the spare columns of each row, in pieces; return what is left."""
        rest = column.copy()
        _add(rest, self.vectors.dtype == np.uint16, self.vectors)
        return rest


def norms_of(vectors: FloatArray, *, manhattan: bool) -> Float64Array:
    """Measure rows in float64, by the sum of their absolute values or by Euclid's norm; float64[row]."""
    norms = np.empty(len(vectors))
    parallel_for(lambda part: _measure(vectors[part], manhattan, norms[part]), len(vectors), ROWS)
    return norms


def round_rows(vectors: FloatArray, order: IntArray, *, precision: FloatPrecision, manhattan: bool) -> Rounded:
    brief, errors = precision == "bfloat16", np.empty(len(order))
    out = np.empty((len(order), vectors.shape[1] + SPARE), np.uint16 if brief else np.float32)

    def round_part(part: slice) -> None:
        out[part, -SPARE:] = 0x3F80 if brief else 1.0  # the bits of one in bfloat16
        _round_rows(vectors, order[part], manhattan, brief, out[part], errors[part])

    parallel_for(round_part, len(order), ROWS)
    return Rounded(out, errors)


@njit(cache=True, nogil=True)
def _measure(vectors, manhattan, norms):  # type: ignore[no-untyped-def]
    for row in range(len(vectors)):
        norms[row] = _norm(vectors[row], manhattan)


@njit(cache=True, nogil=True)
def _round_rows(vectors, order, manhattan, brief, out, errors):  # type: ignore[no-untyped-def]
    for row in range(len(order)):
        single = vectors[order[row]].astype(np.float32)
        _store(single, brief, out[row, : len(single)])
        errors[row] = _distance(vectors[order[row]], single, manhattan)


@njit(cache=True)
def _add(rest, brief, out):  # type: ignore[no-untyped-def]
    for place in range(out.shape[1] - SPARE, out.shape[1]):
        single = rest.astype(np.float32)
        _store(single, brief, out[:, place])
        rest -= single


@njit(cache=True)
def _store(single, brief, out):  # type: ignore[no-untyped-def]
    """Store float32 numbers as they are, or as the bits of bfloat16, to which they are rounded, halves to even."""
    if brief:
        bits = single.view(np.uint32)
        for k in range(len(bits)):
            out[k] = (bits[k] + 0x7FFF + ((bits[k] >> 16) & 1)) >> 16
            bits[k] = np.uint32(out[k]) << np.uint32(16)
    else:
        out[:] = single


@njit(cache=True)
def _norm(vector, manhattan):  # type: ignore[no-untyped-def]
    total = 0.0
    for value in vector:
        total += abs(np.float64(value)) if manhattan else np.float64(value) * np.float64(value)
    return total if manhattan else np.sqrt(total)


@njit(cache=True)
def _distance(vector, other, manhattan):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(len(vector)):
        lost = np.float64(vector[k]) - np.float64(other[k])
        total += abs(lost) if manhattan else lost * lost
    return total if manhattan else np.sqrt(total)


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
