"""The canonical score of one pair, compiled.

The operations and their order are those of ``kgeval.scorers.numerics.similarity``. The terms are written down first,
many at a time; then eight scalars, the eight lanes, take them up in order. numba neither reorders additions nor fuses
them with multiplications, so the bits are the reference's.
"""

from __future__ import annotations

import numpy as np

from kgeval.compiling import njit
from kgeval.scorers.numerics.kernels import sum_in_lanes
from kgeval.scorers.numerics.similarity import Similarity

SIMILARITIES: tuple[Similarity, ...] = ("dot", "l1", "l2", "modulus", "squared_l2")
"""in the order of the codes that the compiled loops use; a cosine reaches them as the dot product of unit vectors"""

DOT, L1, L2, MODULUS, SQUARED_L2 = range(len(SIMILARITIES))


@njit(cache=True)
def scores(similarity, query, entities, candidates, out):  # type: ignore[no-untyped-def]
    """Compare a query's vector (float64) with those of some entities (any precision)."""
    # One loop for each similarity: a call that passes many arrays costs as much as a sum.
    terms = np.empty(len(query) // 2 if similarity == MODULUS else len(query))
    if similarity == DOT:
        for place in range(len(candidates)):
            _products(query, entities[candidates[place]], terms)
            out[place] = sum_in_lanes(terms)
    elif similarity == L1:
        for place in range(len(candidates)):
            _differences(query, entities[candidates[place]], terms)
            out[place] = -sum_in_lanes(terms)
    elif similarity == L2:
        for place in range(len(candidates)):
            _squares(query, entities[candidates[place]], terms)
            out[place] = -np.sqrt(sum_in_lanes(terms))
    elif similarity == SQUARED_L2:
        for place in range(len(candidates)):
            _squares(query, entities[candidates[place]], terms)
            out[place] = -sum_in_lanes(terms)
    else:
        for place in range(len(candidates)):
            _moduli(query, entities[candidates[place]], terms)
            out[place] = -sum_in_lanes(terms)


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
