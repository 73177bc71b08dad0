"""Float64 arithmetic of model families, whose bits depend on the row alone: sums and products in one fixed order.

A matrix product (BLAS) gives the same row other last bits in a batch of 1 than in a batch of 256. Families and readers
of checkpoints call these functions instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray
from kgeval.base.threads import parallel_for
from kgeval.models.similarity import dot_rows

BATCH_ROWS = 512
"""the number of rows that a thread multiplies at a time"""


def weighted_sum(weights: Float64Array, terms: Float64Array) -> Float64Array:
    """Σ_k weights[k] terms[k], from the first to the last; all other axes broadcast.

    >>> weighted_sum(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [10.0, 1.0]]))
    array([21.,  2.])
    """
    total: Float64Array = weights[0] * terms[0]
    for weight, term in zip(weights[1:], terms[1:], strict=True):
        total = total + weight * term
    return total


def matmul_ordered(vectors: Float64Array, matrix: Float64Array) -> Float64Array:
    """Multiply rows with a matrix, from its first row to its last; float64[row, column]."""
    # Numba is loaded when something is multiplied, not before.
    from kgeval.models.kernels import multiply_rows

    rows, factor = np.ascontiguousarray(vectors), np.ascontiguousarray(matrix)
    out = np.empty((len(rows), factor.shape[1]))
    parallel_for(lambda part: multiply_rows(rows[part], factor, out[part]), len(rows), BATCH_ROWS)
    return out


def norms_column(vectors: Float64Array, norm: int = 2) -> Float64Array:
    """Norms (1 or 2) along the last axis, as a column; float64[..., 1]."""
    if norm == 1:
        return dot_rows(np.abs(vectors), np.ones_like(vectors))[..., None]
    return np.asarray(np.sqrt(dot_rows(vectors, vectors))[..., None])


def normalized(vectors: FloatArray, norm: int = 2, *, least: float = 1e-12) -> Float64Array:
    """Scale vectors to norm 1 (of p = 1 or 2) in float64, as PyTorch's ``normalize`` does; the zero vector stays zero.

    A vector whose norm is below ``least`` is divided by ``least``: with ``least=1``, only longer vectors are changed.

    >>> normalized(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    >>> normalized(np.array([[3.0, 4.0], [0.3, 0.4]]), least=1.0).tolist()
    [[0.6, 0.8], [0.3, 0.4]]
    >>> normalized(np.array([[3.0, -1.0]]), 1, least=1.0)
    array([[ 0.75, -0.25]])
    """
    exact = np.asarray(vectors, np.float64)
    return exact / np.maximum(norms_column(exact, norm), least)


Activation = Literal["identity", "relu", "sigmoid", "tanh"]

ACTIVATIONS: dict[Activation, Callable[[Float64Array], Float64Array]] = {
    "identity": lambda values: values,
    "relu": lambda values: np.maximum(values, 0.0),
    "sigmoid": lambda values: 0.5 * np.tanh(0.5 * values) + 0.5,
    "tanh": np.tanh,
}
"""the activation functions, each by PyTorch's name in lower case"""


def complex_product(left: Float64Array, right: Float64Array, *, conjugate: bool = False) -> Float64Array:
    """Multiply complex vectors elementwise, ``right`` conjugated on request; float64[..., 2 × dim].

    >>> complex_product(np.array([1.0, 2.0]), np.array([3.0, 4.0]))  # (1 + 2i)(3 + 4i) = −5 + 10i
    array([-5., 10.])
    """
    (left_re, left_im), (right_re, right_im) = np.split(left, 2, axis=-1), np.split(right, 2, axis=-1)
    if conjugate:
        right_im = -right_im
    real = left_re * right_re - left_im * right_im
    imaginary = left_re * right_im + left_im * right_re
    return np.concatenate([real, imaginary], axis=-1)
