"""The product of rows with a matrix, compiled: numba neither reorders additions nor fuses them with multiplications."""

from __future__ import annotations

from kgeval.compiling import njit

TOGETHER = 16
"""rows that meet a row of the matrix while it is in cache"""


@njit(cache=True, nogil=True)
def multiply_rows(vectors, matrix, out):  # type: ignore[no-untyped-def]
    """Write Σ_k vectors[:, k] matrix[k], summed from the first to the last, so many rows at a time."""
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
