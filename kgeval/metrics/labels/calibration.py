"""Calibration: from scores to probabilities of being true, fitted on validation triples.

Platt: Probabilistic Outputs for Support Vector Machines, 1999 (``platt``); Zadrozny and Elkan: Transforming Classifier
Scores into Accurate Multiclass Probability Estimates, KDD 2002 (``isotonic``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.errors import MetricError, did_you_mean
from kgeval.metrics.confidences.score_mapping import logistic
from kgeval.metrics.labels.scored_labels import ScoredLabels
from kgeval.metrics.metric import Undefined
from kgeval.metrics.numerics.standardize import Standardizer

Calibration = Literal["platt", "isotonic", "none"]
CALIBRATIONS: tuple[Calibration, ...] = get_args(Calibration)

Calibrator = Callable[[Float64Array], Float64Array]
"""scores -> probabilities, both float64[triple]"""


def calibrator(valid: ScoredLabels, calibration: Calibration = "platt") -> Calibrator:
    """Fit a function from scores to probabilities.

    Parameters
    ----------
    valid
        the validation triples; ``"none"`` ignores them
    calibration
        ``"platt"``: 1 / (1 + exp(−(a·s + b))) of greatest likelihood, with the smoothed targets of Platt, so that
        a and b are finite for separable scores; ``"isotonic"``: the non-decreasing step function of least squares,
        constant beyond the validation scores; ``"none"``: scores are probabilities already

    Raises
    ------
    Undefined
        if the validation triples are all true or all false
    MetricError
        if there is no such calibration, or validation labels are confidences

    Examples
    --------
    >>> valid = ScoredLabels(np.array([-2.0, -1, 1, 2]), np.array([0.0, 0, 1, 1]), np.zeros(4, int))
    >>> calibrator(valid)(np.array([-2.0, 0, 2])).round(3)
    array([0.206, 0.5  , 0.794])
    >>> calibrator(valid, "isotonic")(np.array([-2.0, 0, 2]))
    array([0. , 0.5, 1. ])
    """
    if calibration == "none":
        return _checked_probabilities
    if calibration not in CALIBRATIONS:
        raise MetricError(f"unknown calibration {calibration!r}. {did_you_mean(str(calibration), CALIBRATIONS)}")
    true = int(valid.is_true.sum())
    if true in (0, len(valid)):
        raise Undefined(f"the validation triples are all {'true' if true else 'false'}: nothing to calibrate on")
    return _platt(valid) if calibration == "platt" else _isotonic(valid)


def _checked_probabilities(scores: Float64Array) -> Float64Array:
    wrong = ~((scores >= 0) & (scores <= 1))
    if wrong.any():
        example = scores[np.argmax(wrong)]
        raise Undefined(f"scores such as {example:g} are no probabilities; calibrate them (platt or isotonic)")
    return scores


def _platt(valid: ScoredLabels) -> Calibrator:
    from sklearn.linear_model import LogisticRegression

    truths = valid.is_true
    true, false = int(truths.sum()), int((~truths).sum())
    # Each triple is a positive example with its smoothed target as weight, and a negative one with the rest.
    target = np.where(truths, (true + 1) / (true + 2), 1 / (false + 2))
    standardize = Standardizer.of(valid.scores)
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    twice = np.repeat(standardize(valid.scores)[:, None], 2, axis=0)
    model.fit(twice, np.tile([1, 0], len(valid)), sample_weight=np.stack([target, 1 - target], 1).ravel())
    slope, intercept = float(model.coef_[0, 0]), float(model.intercept_[0])
    return lambda scores: logistic(slope * standardize(scores) + intercept)


def _isotonic(valid: ScoredLabels) -> Calibrator:
    from sklearn.isotonic import IsotonicRegression

    # Fitted on the order of the scores, for scikit-learn merges scores that differ by less than 1e-15.
    distinct, order = np.unique(valid.scores, return_inverse=True)
    model = IsotonicRegression(y_min=0, y_max=1).fit(order.astype(np.float64), valid.labels)
    steps = np.asarray(model.predict(np.arange(float(len(distinct)))), np.float64)
    return lambda scores: np.clip(np.interp(scores, distinct, steps), 0.0, 1.0)
