"""Rounded vectors: vectors in float32 or bfloat16, the norm of their rounding error, and bounds for sums over them.

Most candidates are clearly above or below the answer, so cheap products of rounded vectors decide them; those within a
bound on the error are scored again, exactly (``screening/screens.py`` has the bound). ``vectors`` rounds each chunk of
queries, the screens each chunk of entities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray, IntArray
from kgeval.base.compiling import njit
from kgeval.base.threads import parallel_for

Precision = Literal["bfloat16", "float32"]
"""what vectors are rounded to"""

SPARE = 3
"""the number of spare columns beside the dimensions: a number in float32 is the sum of three in bfloat16"""

ROWS = 2048
"""the number of vectors that a thread takes at a time"""


@dataclass(frozen=True, eq=False)
class Rounded:
    """Vectors in low precision, with columns to spare for what is added to their products."""

    vectors: np.ndarray[Any, Any]
    """[row, dim + SPARE], float32, or the bits of bfloat16 in uint16; the last columns are ones until :meth:`add`"""
    rounding_errors: Float64Array
    """float64[row], the norm of the difference from the exact vector"""

    def add(self, column: Float64Array) -> Float64Array:
        """Replace the ones in the spare columns by a number (float64[row]), as a sum of ``SPARE`` pieces.

        A product with rows that still have ones then adds the number. Returns the rest that the pieces leave out.
        """
        rest = column.copy()
        for place in range(-SPARE, 0):
            single = rest.astype(np.float32)
            _store(single, self.vectors.dtype == np.uint16, self.vectors[:, place])
            rest -= single
        return rest


def round_rows(vectors: FloatArray, order: IntArray, *, precision: Precision, manhattan: bool) -> Rounded:
    """Round the rows ``order`` (int64[row]), and measure the rounding error of each, by the norm of ``norms_of``."""
    brief, errors = precision == "bfloat16", np.empty(len(order))
    out = np.empty((len(order), vectors.shape[1] + SPARE), np.uint16 if brief else np.float32)

    def round_part(part: slice) -> None:
        out[part, -SPARE:] = 0x3F80 if brief else 1.0  # the bits of one in bfloat16
        _round_rows(vectors, order[part], manhattan, brief, out[part], errors[part])

    parallel_for(round_part, len(order), ROWS)
    return Rounded(out, errors)


def norms_of(vectors: FloatArray, *, manhattan: bool) -> Float64Array:
    """Measure rows in float64, by the sum of their absolute values or by Euclid's norm; float64[row]."""
    norms = np.empty(len(vectors))
    parallel_for(lambda part: _measure(vectors[part], manhattan, norms[part]), len(vectors), ROWS)
    return norms


@njit(cache=True, nogil=True)
def _measure(vectors, manhattan, norms):  # type: ignore[no-untyped-def]
    for row in range(len(vectors)):
        norms[row] = _norm(vectors[row], manhattan)


@njit(cache=True, nogil=True)
def _round_rows(vectors, order, manhattan, brief, out, errors):  # type: ignore[no-untyped-def]
    for row in range(len(order)):
        single = vectors[order[row]].astype(np.float32)
        _store(single, brief, out[row, : len(single)])
        errors[row] = _norm(vectors[order[row]].astype(np.float64) - single, manhattan)


@njit(cache=True)
def _norm(vector, manhattan):  # type: ignore[no-untyped-def]
    total = 0.0
    for value in vector:
        total += abs(np.float64(value)) if manhattan else np.float64(value) * np.float64(value)
    return total if manhattan else np.sqrt(total)


@njit(cache=True)
def _store(single, brief, out):  # type: ignore[no-untyped-def]
    """Store float32 numbers as they are, or as the bits of bfloat16, to which they are rounded, halves to even.

    ``single`` is rounded too: callers subtract it.
    """
    if brief:
        bits = single.view(np.uint32)
        for k in range(len(bits)):
            out[k] = (bits[k] + 0x7FFF + ((bits[k] >> 16) & 1)) >> 16
            bits[k] = np.uint32(out[k]) << np.uint32(16)
    else:
        out[:] = single


U32, U64 = 2.0**-24, 2.0**-53
"""the unit roundoffs of float32 and float64"""


def canonical_growth(dim: int) -> float:
    """Bound the rounding errors of two float64 scores of a pair, relative to the sizes of the numbers in their sums."""
    return (2 * dim + 64) * U64


def growth(terms: int, unit: float) -> float:
    """Bound the rounding error of a sum of products, γ(n) = n u / (1 − n u), relative to the sizes of its terms.

    The bound holds for any order of summation, with or without fused operations (Higham, 2002, section 3.1).
    """
    return terms * unit / (1 - terms * unit)
