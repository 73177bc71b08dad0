"""Screens: approximate scores of a block of queries and candidates, and how far they may be from the canonical ones.

A screen turns "the candidate is above the answer" into "a statistic is above a limit". The statistic comes in low
precision; two limits, above and below the answer's by a proven bound on the error, enclose what remains uncertain.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from kgeval.arrays import Float64Array, IntArray

BOUND_GROUP = 512
"""candidates that share one error bound, neighbours in the order of the screen"""

LARGEST = 2.0**60
"""norms beyond this are not screened: their squares come near the end of float32"""

SMALLEST = 2.0**-60
"""what underflow may take from a score, per dimension (a square below 2⁻¹²⁶ is lost, so a modulus below 2⁻⁶³ is)"""


class Limits(NamedTuple):
    """Statistics above ``upper`` are certainly above the answer, those below ``lower`` are not, nor tied."""

    upper: np.ndarray[Any, Any]
    """[answer, group], in the precision of the statistics"""
    lower: np.ndarray[Any, Any]


class Screen(ABC):
    """Approximate statistics of queries and the candidates of a chunk."""

    order: IntArray
    """int64[column], the candidate in each column"""

    @abstractmethod
    def buffer(self, rows: int) -> np.ndarray[Any, Any]:
        """Make room for the statistics of some queries."""

    @abstractmethod
    def statistics(self, block: slice, buffer: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Approximate the statistics of a block of queries; [query, column], in the buffer."""

    @abstractmethod
    def limits(self, answers: Float64Array, owners: IntArray) -> Limits:
        """Enclose the answers' scores (float64[answer]), whose queries are ``owners``."""


def round_outward(upper: Float64Array, lower: Float64Array) -> Limits:
    """Round limits to float32, away from each other."""
    return Limits(
        (upper + np.abs(upper) * 2.0**-22 + 2.0**-120).astype(np.float32),
        (lower - np.abs(lower) * 2.0**-22 - 2.0**-120).astype(np.float32),
    )


def largest_in_groups(values: Float64Array) -> Float64Array:
    """Take the largest value of each group of columns; float64[group]."""
    return np.asarray(np.maximum.reduceat(values, np.arange(0, len(values), BOUND_GROUP)))
