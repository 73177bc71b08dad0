"""Standardised scores: mean 0 and standard deviation 1 in validation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kgeval.arrays import Float64Array


class Standardizer(NamedTuple):
    """(2^−exponent · score − middle) / spread."""

    exponent: int
    middle: float
    spread: float

    @classmethod
    def of(cls, scores: Float64Array) -> Standardizer:
        """Take the mean and the standard deviation of scores; the spread is 1 where they are all the same.

        Scores are first brought below 1 by a power of two, which is exact and keeps their squares finite.

        >>> Standardizer.of(np.array([-1e200, 1e200]))(np.array([-1e200, 0, 1e200]))
        array([-1.,  0.,  1.])
        >>> Standardizer.of(np.full(1000, 0.1))(np.array([0.1]))  # whose computed deviation is not quite 0
        array([0.])
        """
        exponent = int(np.frexp(np.abs(scores).max())[1])
        small = np.ldexp(scores, -exponent)
        if small.min() == small.max():
            return cls(exponent, float(small[0]), 1.0)
        return cls(exponent, float(small.mean()), float(small.std()))

    def __call__(self, scores: Float64Array) -> Float64Array:
        """Standardise scores, also such as are far beyond those it was made of; finite float64[score]."""
        with np.errstate(over="ignore"):
            values = (np.ldexp(scores, -self.exponent) - self.middle) / self.spread
        return np.clip(values, -_FAR, _FAR)

    def line(self, weight: float, bias: float) -> tuple[float, float]:
        """The weight and bias, of scores as they are, of a line in standardised scores; infinite beyond float64."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(weight / self.spread, -self.exponent)), bias - weight * self.middle / self.spread


_FAR = 1e300
"""the largest standardised score: to logistic and bounded curves as good as infinity"""
