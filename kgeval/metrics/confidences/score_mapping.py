"""Mappings: how a score becomes a confidence, by itself or by a function of two numbers.

Chen et al.: Embedding Uncertain Knowledge Graphs, AAAI 2019: the logistic and the bounded linear ("rectified") mapping.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from kgeval.arrays import Float64Array
from kgeval.metrics.labels.scored_labels import ScoredLabels
from kgeval.metrics.metric import Undefined
from kgeval.settings.settings import Settings


class Standardizer(NamedTuple):
    """(2^−exponent · score − middle) / spread."""

    exponent: int
    middle: float
    spread: float

    @classmethod
    def of(cls, scores: Float64Array) -> Standardizer:
        """Take the mean and the standard deviation of scores; the spread is 1 where they are all the same.

        Scores are first brought below 1 by a power of two, which is exact and keeps their squares finite.
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


Number = Annotated[float | None, Field(allow_inf_nan=False)]


def logistic(values: Float64Array) -> Float64Array:
    from scipy.special import expit

    return np.asarray(expit(values), np.float64)


def bounded(values: Float64Array) -> Float64Array:
    return np.clip(values, 0.0, 1.0)


class ConfidenceMapping(Settings):
    """How scores become confidences: its own configuration.

    ``weight`` and ``bias`` are those that a model for confidences has learned with its vectors; without them, they are
    fitted on validation by least squares.

    >>> ConfidenceMapping(kind="logistic", weight=2.0, bias=-1.0)(np.array([0.5]))
    array([0.5])
    >>> ConfidenceMapping(kind="bounded-linear", weight=1.0, bias=0.0)(np.array([-1, 0.25, 3]))
    array([0.  , 0.25, 1.  ])
    """

    kind: Literal["raw", "logistic", "bounded-linear"] = "raw"
    """raw: scores are confidences already; logistic: 1 / (1 + exp(−(weight · s + bias))); bounded-linear: weight · s +
    bias, cut to 0 … 1"""
    weight: Number = None
    """the factor of scores; by default fitted on validation"""
    bias: Number = None
    """the constant that is added; by default fitted on validation"""

    @model_validator(mode="after")
    def _both_or_none(self) -> ConfidenceMapping:
        if (self.weight is None) != (self.bias is None):
            raise ValueError("give weight and bias, or neither of them to have both fitted in validation")
        if self.kind == "raw" and self.weight is not None:
            raise ValueError("raw scores have no weight and bias. Choose logistic or bounded-linear")
        return self

    def fitted(self, valid: ScoredLabels) -> ConfidenceMapping:
        """Return the mapping with weight and bias, fitted on validation by least squares where there are none."""
        if self.kind == "raw" or self.weight is not None:
            return self
        if len(valid) == 0:
            raise Undefined("there are no validation facts to fit a mapping on")
        weight, bias = _least_squares(valid, logistic if self.kind == "logistic" else bounded)
        return ConfidenceMapping(kind=self.kind, weight=weight, bias=bias)

    def __call__(self, scores: Float64Array) -> Float64Array:
        """Map scores to confidences; float64[fact]."""
        if self.kind == "raw":
            return scores
        if self.weight is None or self.bias is None:
            raise Undefined("the mapping was not fitted")
        with np.errstate(over="ignore"):  # infinity maps to 0 or 1
            line = self.weight * scores + self.bias
        return logistic(line) if self.kind == "logistic" else bounded(line)


def _least_squares(valid: ScoredLabels, function: Callable[[Float64Array], Float64Array]) -> tuple[float, float]:
    """Minimise Σ (function(weight · s + bias) − w)², starting from the straight line of least squares."""
    from scipy.optimize import least_squares
    from scipy.special import logit

    standardize = Standardizer.of(valid.scores)
    scores = standardize(valid.scores)
    slope, height = float(np.mean(scores * valid.labels)), float(valid.labels.mean())
    # Where the logistic function is h, its slope is h (1 − h): the start makes the straight line its tangent.
    h = float(np.clip(height, 0.01, 0.99))
    start = (slope / (h * (1 - h)), float(logit(h))) if function is logistic else (slope, height)
    best = least_squares(lambda line: function(line[0] * scores + line[1]) - valid.labels, start).x
    line = standardize.line(float(best[0]), float(best[1]))
    if not np.isfinite(line).all():
        raise Undefined("the validation scores are so close together that no weight in float64 distinguishes them")
    return line
