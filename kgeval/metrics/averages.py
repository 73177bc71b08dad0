"""Averages: over answers (micro), queries (macro), relations, or against popularity. Each is a way to weigh."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.errors import MetricError

_LARGEST = 10
"""an exponent: frequencies below 10¹⁵, each to its power, then multiply to a finite weight"""

Average = Literal["micro", "macro", "relation", "strat"]
AVERAGES: tuple[Average, ...] = get_args(Average)


def evenly(groups: IntArray) -> Float64Array:
    """Weigh rows so that each of their groups counts the same: the mean of the groups' means.

    >>> evenly(np.array([7, 7, 9]))
    array([0.5, 0.5, 1. ])
    """
    _, owners, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(1 / sizes[owners], np.float64)


def checked_exponents(given: object) -> tuple[float, float]:
    """Read the two exponents of popularity.

    Raises
    ------
    MetricError
        if they are not two numbers from −10 to 10, beyond which weights would overflow

    >>> checked_exponents([1, 0.5])
    (1.0, 0.5)
    """
    pair = list(given) if isinstance(given, tuple | list | np.ndarray) else []
    numbers = [float(one) for one in pair if isinstance(one, int | float | np.number) and not isinstance(one, bool)]
    if len(pair) != 2 or len(numbers) != 2 or not all(abs(number) <= _LARGEST for number in numbers):
        raise MetricError(
            "popularity: expected two exponents, of the frequencies of answer and relation, each a number from "
            f"-{_LARGEST} to {_LARGEST}, found {given!r}."
        )
    return numbers[0], numbers[1]


def against_popularity(
    answers: IntArray, relations: IntArray, frequencies: tuple[IntArray, IntArray], exponents: tuple[float, float]
) -> Float64Array:
    """Weigh rows by 1 / (freq(e)^βe · freq(r)^βr), e the answer (Mohamed et al., 2020).

    Parameters
    ----------
    answers, relations
        of each row; int64[row]
    frequencies
        how often each entity and each relation occurs; int64[entity], int64[relation]
    exponents
        βe, βr: 0 weighs all alike, 1 makes every entity or relation count the same

    >>> against_popularity(np.array([0, 1]), np.array([0, 0]), (np.array([4, 1]), np.array([5])), (0.5, 0))
    array([0.5, 1. ])
    """
    entity, relation = frequencies
    return np.asarray(
        entity[answers].astype(float) ** -exponents[0] * relation[relations].astype(float) ** -exponents[1], np.float64
    )
