"""The canonical score of one pair, compiled.

The operations and their order are those of ``kgeval.scorers.similarity``. The terms are written down first,
many at a time; then eight scalars, the eight lanes, take them up in order. numba neither reorders additions nor fuses
them with multiplications, so the bits are the reference's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.compiling import njit
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.scorers.kernels import sum_in_lanes
from kgeval.scorers.similarity import Similarity

SIMILARITIES: tuple[Similarity, ...] = ("dot", "l1", "l2", "modulus", "squared_l2")
"""in the order of the codes that the compiled loops use; a cosine reaches them as the dot product of unit vectors"""

DOT, L1, L2, MODULUS, SQUARED_L2 = range(len(SIMILARITIES))


class Arrays(NamedTuple):
    """Queries and entities as plain arrays, for the compiled loops."""

    similarity: int
    queries: Float64Array
    offsets: Float64Array
    entities: np.ndarray[Any, Any]
    biases: Float64Array


def arrays_of(queries: QueryVectors, entities: EntityVectors) -> Arrays:
    code, vectors = SIMILARITIES.index(queries.similarity), np.ascontiguousarray(entities.vectors)
    return Arrays(code, queries.vectors, queries.offsets, vectors, entities.biases)


@njit(cache=True)
def score(arrays, query, candidates, out):  # type: ignore[no-untyped-def]
    """Write the canonical scores of some entities, by their rows."""
    similarity, vector, offset = arrays.similarity, arrays.queries[query], arrays.offsets[query]
    entities, biases = arrays.entities, arrays.biases
    terms = np.empty(len(vector) // 2 if similarity == MODULUS else len(vector))
    # One loop for each similarity: a branch at every candidate costs as much as a sum.
    if similarity == DOT:
        for place in range(len(candidates)):
            _products(vector, entities[candidates[place]], terms)
            out[place] = sum_in_lanes(terms)
    elif similarity == L1:
        for place in range(len(candidates)):
            _differences(vector, entities[candidates[place]], terms)
            out[place] = -sum_in_lanes(terms)
    elif similarity == MODULUS:
        for place in range(len(candidates)):
            _moduli(vector, entities[candidates[place]], terms)
            out[place] = -sum_in_lanes(terms)
    else:
        for place in range(len(candidates)):
            _squares(vector, entities[candidates[place]], terms)
            total = sum_in_lanes(terms)
            out[place] = -np.sqrt(total) if similarity == L2 else -total
    for place in range(len(candidates)):
        out[place] = out[place] + biases[candidates[place]] + offset


@njit(cache=True)
def _products(query, entity, terms):  # type: ignore[no-untyped-def]
    for k in range(len(terms)):
        terms[k] = query[k] * np.float64(entity[k])


@njit(cache=True)
def _differences(query, entity, terms):  # type: ignore[no-untyped-def]
    for k in range(len(terms)):
        terms[k] = abs(query[k] - np.float64(entity[k]))


@njit(cache=True)
def _squares(query, entity, terms):  # type: ignore[no-untyped-def]
    for k in range(len(terms)):
        difference = query[k] - np.float64(entity[k])
        terms[k] = difference * difference


@njit(cache=True)
def _moduli(query, entity, terms):  # type: ignore[no-untyped-def]
    half = len(terms)
    for k in range(half):
        real = query[k] - np.float64(entity[k])
        imaginary = query[half + k] - np.float64(entity[half + k])
        terms[k] = np.sqrt(real * real + imaginary * imaginary)
