"""The similarities of vectors, and their canonical values: float64, summed in one fixed order.

dot        Σ_k q_k e_k
l1         −Σ_k |q_k − e_k|
l2         −√ Σ_k (q_k − e_k)²
modulus    −Σ_k |q_k − e_k| of complex numbers stored as halves [re | im]   (RotatE; Sun et al., 2019)
squared_l2 −Σ_k (q_k − e_k)²

The order: lane l of eight sums the dimensions l, l + 8, l + 16, …, and the lanes are added from the first to the last
(eight sums side by side are what a processor does well). Every operation is elementwise, so that a value depends
neither on its neighbours nor on the batch or the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from kgeval.arrays import Float64Array

Similarity = Literal["dot", "l1", "l2", "modulus", "squared_l2"]

LANES = 8


def canonical(similarity: Similarity, queries: Float64Array, entities: Float64Array) -> Float64Array:
    """Compare vectors along their last axis; all other axes broadcast.

    >>> canonical("l1", np.array([[1.0, 2.0]]), np.array([[1.0, 4.0], [0.0, 0.0]]))
    array([-2., -3.])
    >>> canonical("modulus", np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([-5.])
    """
    return _CANONICAL[similarity](queries, entities)


def ordered_sum(term: Callable[[slice], Float64Array], count: int) -> Float64Array:
    """Sum the terms of all dimensions: in eight lanes, then the lanes from the first to the last."""
    lanes = term(slice(0, LANES))
    lanes = np.concatenate([lanes, np.zeros((*lanes.shape[:-1], LANES - lanes.shape[-1]))], axis=-1)
    for start in range(LANES, count, LANES):
        block = term(slice(start, min(start + LANES, count)))
        lanes[..., : block.shape[-1]] += block
    total: Float64Array = lanes[..., 0]
    for lane in range(1, LANES):
        total = total + lanes[..., lane]
    return total


def _dot(queries: Float64Array, entities: Float64Array) -> Float64Array:
    return ordered_sum(lambda k: queries[..., k] * entities[..., k], queries.shape[-1])


def _l1(queries: Float64Array, entities: Float64Array) -> Float64Array:
    return -ordered_sum(lambda k: np.abs(queries[..., k] - entities[..., k]), queries.shape[-1])


def _l2(queries: Float64Array, entities: Float64Array) -> Float64Array:
    return -np.sqrt(-_squared_l2(queries, entities))


def _squared_l2(queries: Float64Array, entities: Float64Array) -> Float64Array:
    return -ordered_sum(lambda k: _square(queries[..., k] - entities[..., k]), queries.shape[-1])


def _modulus(queries: Float64Array, entities: Float64Array) -> Float64Array:
    half = queries.shape[-1] // 2
    q_re, q_im, e_re, e_im = queries[..., :half], queries[..., half:], entities[..., :half], entities[..., half:]

    def moduli(k: slice) -> Float64Array:
        return np.asarray(np.sqrt(_square(q_re[..., k] - e_re[..., k]) + _square(q_im[..., k] - e_im[..., k])))

    return -ordered_sum(moduli, half)


def _square(values: Float64Array) -> Float64Array:
    return values * values


_CANONICAL = {"dot": _dot, "l1": _l1, "l2": _l2, "modulus": _modulus, "squared_l2": _squared_l2}
