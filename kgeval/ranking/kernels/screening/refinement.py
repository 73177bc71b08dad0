"""Refinement: the score of one pair in the precision of its entity, and how far the canonical score may be from it.

The sums are taken in whatever order is fastest. For n terms, each rounded and added with unit roundoff u (Higham, 2002,
chapter 3), and for a query q̂ that was itself rounded to that precision:

dot                    |q·e − fl(q̂·e)| ≤ (‖q − q̂‖ + γ(2d)‖q̂‖) ‖e‖,        γ(n) = n u / (1 − n u)
l1, l2, modulus        |distance − fl(distance)| ≤ ‖q − q̂‖ + γ(2d) fl(distance)
squared_l2             |d² − fl(d²)| ≤ ‖q − q̂‖ (2d̂ + ‖q − q̂‖) + γ(2d) fl(d²),   d̂ ≤ (1 + γ(2d)) √fl(d²)

The canonical score's own rounding, in float64, is added.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.compiling import njit
from kgeval.ranking.kernels.canonical import DOT, L1, L2, MODULUS, SQUARED_L2, Arrays, arrays_of, score
from kgeval.ranking.kernels.rounding import U32, U64
from kgeval.ranking.kernels.screening.screens import SMALLEST
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors

FREE = {"reassoc", "contract", "nsz"}
"""what the compiler may do to a sum: take it in any order, and fuse multiplications with additions"""


class Pairs(NamedTuple):
    """Queries and entities for the compiled loops."""

    arrays: Arrays
    rounded: np.ndarray[Any, Any]
    """[query, dim or more], in the precision of the entities"""
    rounding_error_per_unit: Float64Array
    """float64[query], the error per unit of an entity's size"""
    sizes: Float64Array
    """float64[entity], the norms where products are taken; ones where distances are, whose squares have sizes apart"""
    growth: float
    """the error per unit of the score"""
    floor: float
    """the error beside those"""


def pairs_of(queries: QueryVectors, entities: EntityVectors) -> Pairs:
    """Lay queries and entities out for the compiled loops."""
    dim = queries.vectors.shape[1]
    single = entities.vectors.dtype == np.float32
    rounded = queries.float32.vectors if single else queries.vectors
    errors = queries.float32.rounding_errors if single else np.zeros(len(queries.vectors))
    growth = (2 * dim + 64) * ((U32 if single else U64) + U64) * 1.01
    if queries.similarity == "dot":
        error, sizes, growth = errors + growth * (queries.norms + errors), entities.norms, 0.0
    else:
        error, sizes = errors, np.ones(len(entities.biases))
    return Pairs(arrays_of(queries, entities), rounded, error * (1 + 2.0**-20), sizes, growth, SMALLEST * dim)


@njit(cache=True)
def score_bounds(pairs, query, candidates, lows, highs):  # type: ignore[no-untyped-def]
    """For each candidate, find a lower and an upper bound of its canonical score."""
    arrays, sizes, error = pairs.arrays, pairs.sizes, pairs.rounding_error_per_unit[query]
    _similarities(arrays.similarity, pairs.rounded[query], arrays.entities, candidates, lows)
    biases, offset, growth, floor = arrays.biases, arrays.offsets[query], pairs.growth, pairs.floor
    for place in range(len(candidates)):
        found, bias = lows[place], biases[candidates[place]]
        size = sizes[candidates[place]]
        if arrays.similarity == SQUARED_L2:
            size = 2 * (1 + growth) * np.sqrt(abs(found)) + error
        slack = error * size + growth * abs(found) + floor
        slack += 2.0**-48 * (abs(found) + abs(bias) + abs(offset))
        lows[place] = found + bias + offset - slack
        highs[place] = found + bias + offset + slack


@njit(cache=True)
def _similarities(similarity, vector, entities, candidates, out):  # type: ignore[no-untyped-def]
    for place in range(len(candidates)):
        entity = entities[candidates[place]]
        if similarity == DOT:
            out[place] = _dot(vector, entity)
        elif similarity == L1:
            out[place] = -_l1(vector, entity)
        elif similarity == MODULUS:
            out[place] = -_moduli(vector, entity)
        else:
            squares = np.float64(_squares(vector, entity))
            out[place] = -np.sqrt(squares) if similarity == L2 else -squares


@njit(cache=True)
def exact(pairs, query, candidates):  # type: ignore[no-untyped-def]
    """Return the canonical score of each candidate."""
    found = np.empty(len(candidates))
    score(pairs.arrays, query, candidates, found)
    return found


@njit(cache=True, fastmath=FREE)
def _dot(query, entity):  # type: ignore[no-untyped-def]
    total = entity.dtype.type(0)
    for k in range(len(entity)):
        total += query[k] * entity[k]
    return total


@njit(cache=True, fastmath=FREE)
def _l1(query, entity):  # type: ignore[no-untyped-def]
    total = entity.dtype.type(0)
    for k in range(len(entity)):
        total += abs(query[k] - entity[k])
    return total


@njit(cache=True, fastmath=FREE)
def _squares(query, entity):  # type: ignore[no-untyped-def]
    total = entity.dtype.type(0)
    for k in range(len(entity)):
        difference = query[k] - entity[k]
        total += difference * difference
    return total


@njit(cache=True, fastmath=FREE)
def _moduli(query, entity):  # type: ignore[no-untyped-def]
    total = entity.dtype.type(0)
    half = len(entity) // 2
    for k in range(half):
        real, imaginary = query[k] - entity[k], query[half + k] - entity[half + k]
        total += np.sqrt(real * real + imaginary * imaginary)
    return total
