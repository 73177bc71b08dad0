"""Complex vectors stored as halves: the real parts, then the imaginary parts."""

from __future__ import annotations

import numpy as np

from kgeval.arrays import Float64Array, FloatArray


def multiply(left: Float64Array, right: Float64Array, *, conjugate: bool = False) -> Float64Array:
    """Multiply complex vectors elementwise, ``right`` conjugated on request; float64[..., 2 × dim].

    >>> multiply(np.array([1.0, 2.0]), np.array([3.0, 4.0]))  # (1 + 2i)(3 + 4i) = −5 + 10i
    array([-5., 10.])
    """
    (left_re, left_im), (right_re, right_im) = np.split(left, 2, axis=-1), np.split(right, 2, axis=-1)
    if conjugate:
        right_im = -right_im
    real = left_re * right_re - left_im * right_im
    imaginary = left_re * right_im + left_im * right_re
    return np.concatenate([real, imaginary], axis=-1)


def from_interleaved(array: FloatArray) -> FloatArray:
    """Turn [re, im, re, im, …] rows into halves.

    >>> from_interleaved(np.array([[1, 10, 2, 20]]))
    array([[ 1,  2, 10, 20]])
    """
    return np.concatenate([array[:, 0::2], array[:, 1::2]], axis=1)
