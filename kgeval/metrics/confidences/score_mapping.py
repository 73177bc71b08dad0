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
from kgeval.metrics.numerics.standardize import Standardizer
from kgeval.settings.settings import Settings

Number = Annotated[float | None, Field(allow_inf_nan=False)]

Shape = Callable[[Float64Array], Float64Array]


def logistic(values: Float64Array) -> Float64Array:
    """1 / (1 + e⁻ˣ)."""
    from scipy.special import expit

    return np.asarray(expit(values), np.float64)


def bounded(values: Float64Array) -> Float64Array:
    """x, cut to 0 … 1."""
    return np.clip(values, 0.0, 1.0)


class Line(NamedTuple):
    """weight · score + bias."""

    weight: float
    bias: float


class ConfidenceMapping(Settings):
    """How scores become confidences: its own configuration.

    Without ``weight`` and ``bias``, which a model for confidences has learned with its vectors, they are those of least
    squares in validation.

    >>> ConfidenceMapping(kind="logistic", weight=2.0, bias=-1.0)(np.array([0.5]))
    array([0.5])
    >>> ConfidenceMapping(kind="bounded-linear", weight=1.0, bias=0.0)(np.array([-1, 0.25, 3]))
    array([0.  , 0.25, 1.  ])
    """

    kind: Literal["raw", "logistic", "bounded-linear"] = "raw"
    """raw: scores are confidences already; logistic: 1 / (1 + exp(−(weight · s + bias))); bounded-linear: weight · s +
    bias, cut to 0 … 1"""
    weight: Number = None
    """what scores are multiplied by; fitted in validation where it is not given"""
    bias: Number = None
    """what is added to them; fitted with the weight"""

    @model_validator(mode="after")
    def _both_or_none(self) -> ConfidenceMapping:
        if (self.weight is None) != (self.bias is None):
            raise ValueError("give weight and bias, or neither of them to have both fitted in validation")
        if self.kind == "raw" and self.weight is not None:
            raise ValueError("raw scores have no weight and bias. Choose logistic or bounded-linear")
        return self

    def fitted(self, valid: ScoredLabels) -> ConfidenceMapping:
        """Choose weight and bias, where they are not given, by least squares in validation.

        Raises
        ------
        Undefined
            if there are no validation facts, or if their scores differ by less than a weight can tell apart
        """
        if self.kind == "raw" or self.weight is not None:
            return self
        if len(valid) == 0:
            raise Undefined("there are no validation facts to fit a mapping on")
        line = _least_squares(valid, logistic if self.kind == "logistic" else bounded, self.kind == "logistic")
        return ConfidenceMapping(kind=self.kind, weight=line.weight, bias=line.bias)

    def __call__(self, scores: Float64Array) -> Float64Array:
        """Map scores to confidences; float64[fact]."""
        if self.kind == "raw":
            return scores
        if self.weight is None or self.bias is None:
            raise Undefined("the mapping was not fitted")
        with np.errstate(over="ignore"):  # an infinite line is cut, or bent, to 0 or 1
            line = self.weight * scores + self.bias
        return logistic(line) if self.kind == "logistic" else bounded(line)


def _least_squares(valid: ScoredLabels, shape: Shape, curved: bool) -> Line:  # noqa: FBT001
    """Fit a line that is bent or cut by a shape, beginning with the straight line of least squares."""
    from scipy.optimize import least_squares
    from scipy.special import logit

    standard = Standardizer.of(valid.scores)
    scores = standard(valid.scores)
    slope, height = float(np.mean(scores * valid.labels)), float(valid.labels.mean())
    # At height h the logistic curve rises by h (1 − h) per unit, so that its tangent is the straight line.
    h = float(np.clip(height, 0.01, 0.99))
    start = (slope / (h * (1 - h)), float(logit(h))) if curved else (slope, height)
    best = least_squares(lambda line: shape(line[0] * scores + line[1]) - valid.labels, start).x
    line = Line(*standard.line(float(best[0]), float(best[1])))
    if not np.isfinite(line).all():
        raise Undefined("the validation scores lie so close together that no weight in float64 tells them apart")
    return line
