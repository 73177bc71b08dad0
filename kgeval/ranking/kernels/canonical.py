"""The canonical score of one pair, compiled: the same operations in the same order as ``kgeval.scorers.similarity``.

Eight scalars are the eight lanes. numba neither reorders them nor fuses their multiplications and additions, so the
bits are the reference's.
"""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numba import njit

from kgeval.scorers.similarity import LANES, Similarity

SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)
"""in the order of the codes that the compiled loops use"""

DOT, L1, L2, MODULUS = range(len(SIMILARITIES))


@njit(cache=True)
def _product(query, entity, k, _):  # type: ignore[no-untyped-def]
    return query[k] * np.float64(entity[k])


@njit(cache=True)
def _difference(query, entity, k, _):  # type: ignore[no-untyped-def]
    return abs(query[k] - np.float64(entity[k]))


@njit(cache=True)
def _square(query, entity, k, _):  # type: ignore[no-untyped-def]
    difference = query[k] - np.float64(entity[k])
    return difference * difference


@njit(cache=True)
def _modulus(query, entity, k, half):  # type: ignore[no-untyped-def]
    real = query[k] - np.float64(entity[k])
    imaginary = query[half + k] - np.float64(entity[half + k])
    return np.sqrt(real * real + imaginary * imaginary)


def _lanes(term: Any) -> Any:
    """Compile the sum of a term over the dimensions."""

    @njit(cache=True)
    def total(query, entity, count):  # type: ignore[no-untyped-def]
        s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        whole = count - count % LANES
        for k in range(0, whole, LANES):
            s0 += term(query, entity, k, count)
            s1 += term(query, entity, k + 1, count)
            s2 += term(query, entity, k + 2, count)
            s3 += term(query, entity, k + 3, count)
            s4 += term(query, entity, k + 4, count)
            s5 += term(query, entity, k + 5, count)
            s6 += term(query, entity, k + 6, count)
            s7 += term(query, entity, k + 7, count)
        rest = count - whole
        s0 += term(query, entity, whole, count) if rest > 0 else 0.0
        s1 += term(query, entity, whole + 1, count) if rest > 1 else 0.0
        s2 += term(query, entity, whole + 2, count) if rest > 2 else 0.0
        s3 += term(query, entity, whole + 3, count) if rest > 3 else 0.0
        s4 += term(query, entity, whole + 4, count) if rest > 4 else 0.0
        s5 += term(query, entity, whole + 5, count) if rest > 5 else 0.0
        s6 += term(query, entity, whole + 6, count) if rest > 6 else 0.0
        return ((((((s0 + s1) + s2) + s3) + s4) + s5) + s6) + s7

    return total


_dot, _l1, _squares, _moduli = _lanes(_product), _lanes(_difference), _lanes(_square), _lanes(_modulus)


@njit(cache=True)
def scores(similarity, query, entities, candidates, out):  # type: ignore[no-untyped-def]
    """Compare a query's vector (float64) with those of some entities (any precision)."""
    # One loop for each similarity: a call that passes arrays costs as much as a sum.
    dim = len(query)
    if similarity == DOT:
        for place in range(len(candidates)):
            out[place] = _dot(query, entities[candidates[place]], dim)
    elif similarity == L1:
        for place in range(len(candidates)):
            out[place] = -_l1(query, entities[candidates[place]], dim)
    elif similarity == L2:
        for place in range(len(candidates)):
            out[place] = -np.sqrt(_squares(query, entities[candidates[place]], dim))
    else:
        for place in range(len(candidates)):
            out[place] = -_moduli(query, entities[candidates[place]], dim // 2)
