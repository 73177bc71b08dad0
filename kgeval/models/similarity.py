"""The similarities of vectors, and their canonical values: float64, summed in one fixed order.

dot        Σ_k q_k e_k
l1         −Σ_k |q_k − e_k|
l2         −√ Σ_k (q_k − e_k)²
modulus    −Σ_k |q_k − e_k| of complex numbers stored as halves [re | im]   (RotatE; Sun et al., 2019)
cosine     Σ_k q'_k e'_k of the unit vectors q' = q / ‖q‖ and e' = e / ‖e‖; 0 where a vector is zero
squared_l2 −Σ_k (q_k − e_k)²

The order: lane l of eight sums the dimensions l, l + 8, l + 16, …, and the lanes are added from the first to the last
(eight sums side by side are what a processor does well). Every operation is elementwise, so that a value depends
neither on its neighbours nor on the batch or the machine.

``VectorScorer.scores`` and the reference kernel call ``canonical``; the fast kernels of ``kgeval.ranking`` must agree
with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray
from kgeval.base.errors import refuse_unknown

Similarity = Literal["dot", "cosine", "l1", "l2", "squared_l2", "modulus"]

PRODUCTS: tuple[Similarity, ...] = ("dot", "cosine", "l2", "squared_l2")
"""the similarities that follow from a matrix product and the norms of the vectors; the others sum over differences"""

LANES = 8


def canonical(similarity: Similarity, queries: Float64Array, entities: Float64Array) -> Float64Array:
    """Compare vectors along their last axis; all other axes broadcast.

    >>> canonical("l1", np.array([[1.0, 2.0]]), np.array([[1.0, 4.0], [0.0, 0.0]]))
    array([-2., -3.])
    >>> canonical("modulus", np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([-5.])
    >>> canonical("cosine", np.array([[3.0, 4.0]]), np.array([[0.0, 2.0], [0.0, 0.0]]))
    array([0.8, 0. ])
    """
    refuse_other_similarities(similarity)
    return _CANONICAL[similarity](queries, entities)


def refuse_other_similarities(similarity: Any) -> None:
    """Refuse a value that is not the name of a similarity."""
    refuse_unknown("unknown similarity", similarity, get_args(Similarity))


def unit(vectors: FloatArray) -> Float64Array:
    """Divide vectors by their Euclidean norms, in float64 and summed in the fixed order; zero vectors stay zero.

    As scikit-learn and PyTorch have it, the cosine with a zero vector is then 0.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0], [1e-200, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ],
           [1. , 0. ]])
    """
    exact = np.asarray(vectors, np.float64)
    # A power of two loses no bit, and keeps squares of large and small numbers within float64.
    _, exponents = np.frexp(np.abs(exact).max(axis=-1, keepdims=True, initial=0.0))
    scaled = np.ldexp(exact, -exponents)
    norms = np.sqrt(dot_rows(scaled, scaled))[..., None]
    with np.errstate(invalid="ignore"):  # an infinite vector has no direction: NaN, which is refused as any other
        return np.asarray(np.divide(scaled, norms, out=scaled, where=norms != 0))


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


def dot_rows(left: Float64Array, right: Float64Array) -> Float64Array:
    """Σ_k left_k right_k along the last axis, in the fixed order; float64[...]."""
    return ordered_sum(lambda k: left[..., k] * right[..., k], left.shape[-1])


def _modulus(queries: Float64Array, entities: Float64Array) -> Float64Array:
    half = queries.shape[-1] // 2
    q_re, q_im, e_re, e_im = queries[..., :half], queries[..., half:], entities[..., :half], entities[..., half:]

    def moduli(k: slice) -> Float64Array:
        return np.asarray(np.sqrt(np.square(q_re[..., k] - e_re[..., k]) + np.square(q_im[..., k] - e_im[..., k])))

    return -ordered_sum(moduli, half)


def _distance(term: Callable[[Float64Array], Float64Array]) -> Callable[[Float64Array, Float64Array], Float64Array]:
    """Make the similarity −Σ_k term(q_k − e_k)."""
    return lambda queries, others: -ordered_sum(lambda k: term(queries[..., k] - others[..., k]), queries.shape[-1])


_CANONICAL: dict[Similarity, Callable[[Float64Array, Float64Array], Float64Array]] = {
    "dot": dot_rows,
    "cosine": lambda queries, entities: dot_rows(unit(queries), unit(entities)),
    "l1": _distance(np.abs),
    "l2": lambda queries, entities: -np.sqrt(-_CANONICAL["squared_l2"](queries, entities)),
    "squared_l2": _distance(np.square),
    "modulus": _modulus,
}
