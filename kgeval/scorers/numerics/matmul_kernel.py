"""The product of rows with a matrix, compiled: numba neither reorders additions nor fuses them with multiplications."""

from __future__ import annotations

from kgeval.compiling import njit


@njit(cache=True, nogil=True)
def multiply_rows(vectors, matrix, out):  # type: ignore[no-untyped-def]
    """Write Σ_k vectors[:, k] matrix[k], summed from the first to the last."""
    for row in range(len(vectors)):
        vector, total = vectors[row], out[row]
        for column in range(len(total)):
            total[column] = vector[0] * matrix[0, column]
        for k in range(1, len(matrix)):
            weight, terms = vector[k], matrix[k]
            for column in range(len(total)):
                total[column] += weight * terms[column]
