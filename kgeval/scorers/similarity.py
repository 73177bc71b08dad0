"""The similarities of vectors, and their canonical values: float64, summed from the first dimension to the last.

dot        Σ_k q_k e_k
l1         −Σ_k |q_k − e_k|
l2         −√ Σ_k (q_k − e_k)²
modulus    −Σ_k |q_k − e_k| of complex numbers stored as halves [re | im]   (RotatE; Sun et al., 2019)

Every operation below is elementwise, so that a value does not depend on its neighbours, the batch or the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from kgeval.arrays import Float64Array

Similarity = Literal["dot", "l1", "l2", "modulus"]


def canonical(similarity: Similarity, queries: Float64Array, entities: Float64Array) -> Float64Array:
    """Compare vectors along their last axis; all other axes broadcast.

    >>> canonical("l1", np.array([[1.0, 2.0]]), np.array([[1.0, 4.0], [0.0, 0.0]]))
    array([-2., -3.])
    >>> canonical("modulus", np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([-5.])
    """
    return _CANONICAL[similarity](queries, entities)


def _ordered_sum(term: Callable[[int], Float64Array], count: int) -> Float64Array:
    total = term(0)
    for k in range(1, count):
        total = total + term(k)
    return total


def _dot(queries: Float64Array, entities: Float64Array) -> Float64Array:
    return _ordered_sum(lambda k: queries[..., k] * entities[..., k], queries.shape[-1])


def _l1(queries: Float64Array, entities: Float64Array) -> Float64Array:
    return -_ordered_sum(lambda k: np.abs(queries[..., k] - entities[..., k]), queries.shape[-1])


def _l2(queries: Float64Array, entities: Float64Array) -> Float64Array:
    def square(k: int) -> Float64Array:
        difference = queries[..., k] - entities[..., k]
        return np.asarray(difference * difference)

    return -np.sqrt(_ordered_sum(square, queries.shape[-1]))


def _modulus(queries: Float64Array, entities: Float64Array) -> Float64Array:
    half = queries.shape[-1] // 2

    def modulus(k: int) -> Float64Array:
        real = queries[..., k] - entities[..., k]
        imaginary = queries[..., half + k] - entities[..., half + k]
        return np.asarray(np.sqrt(real * real + imaginary * imaginary))

    return -_ordered_sum(modulus, half)


_CANONICAL = {"dot": _dot, "l1": _l1, "l2": _l2, "modulus": _modulus}
