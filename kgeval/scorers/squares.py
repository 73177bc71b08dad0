"""Squared distances as dot products: −‖q − e‖² = [2q | −1] · [e | e²] − ‖q‖².

A bias that a model adds to the square of a distance has its place in the dot product.
"""

from __future__ import annotations

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.scorers.ordered import products


def squares_of_candidates(vectors: Float64Array) -> Float64Array:
    """Return [e | e²]; float64[candidate, 2 × dim].

    >>> squares_of_candidates(np.array([[1.0, 3.0]]))
    array([[1., 3., 1., 9.]])
    """
    return np.concatenate([vectors, vectors * vectors], axis=-1)


def squares_of_queries(vectors: Float64Array) -> Float64Array:
    """Return [2q | −1]; float64[query, 2 × dim].

    >>> squares_of_queries(np.array([[1.0, 3.0]]))
    array([[ 2.,  6., -1., -1.]])
    """
    return np.concatenate([2 * vectors, -np.ones_like(vectors)], axis=-1)


def squared_lengths(vectors: Float64Array) -> Float64Array:
    """Return ‖q‖²; float64[query].

    >>> squared_lengths(np.array([[1.0, 3.0]]))
    array([10.])
    """
    return products(vectors, vectors)
