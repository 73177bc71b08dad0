"""What is fitted on validation scores: thresholds for labels, calibrated probabilities, and confidences.

``predict_labels`` makes the :class:`LabelPredictions` that metrics of labels read, for ``label_summary.py``. To add a
calibration, name it in ``kinds.Calibration`` and make its function in ``calibrator``. The methods are by:

Socher et al.: Reasoning With Neural Tensor Networks for Knowledge Base Completion, NeurIPS 2013 (thresholds); Platt:
Probabilistic Outputs for Support Vector Machines, 1999 (``platt``); Zadrozny and Elkan: Transforming Classifier Scores
into Accurate Multiclass Probability Estimates, KDD 2002 (``isotonic``); Chen et al.: Embedding Uncertain Knowledge
Graphs, AAAI 2019: the logistic and the bounded linear ("rectified") mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import MetricError, refuse_unknown
from kgeval.base.settings import Settings
from kgeval.metrics.kinds import Calibration
from kgeval.metrics.labels.scored_labels import ScoredLabels
from kgeval.metrics.metric import T, Undefined, defined, or_reason

Number = Annotated[float | None, Field(allow_inf_nan=False)]

_FAR = 1e300
"""the largest standardised score: to logistic and bounded curves as good as infinity"""

CALIBRATIONS: tuple[Calibration, ...] = get_args(Calibration)

Calibrator = Callable[[Float64Array], Float64Array]
"""scores -> probabilities, both float64[triple]"""


@dataclass(frozen=True, eq=False)
class LabelPredictions:
    """Test triples with their scores, predicted labels and probabilities."""

    truths: BoolArray
    """bool[triple], whether each triple is true"""
    scores: Float64Array
    """float64[triple], higher is more plausible"""
    relations: npt.NDArray[Any]
    """[triple], the relation of each triple"""
    decisions: BoolArray | Undefined
    """bool[triple], whether each triple is predicted true; or the reason why there are no labels"""
    probabilities: Float64Array | Undefined
    """float64[triple], the probability that each triple is true; or the reason why there are none"""

    def __len__(self) -> int:
        return len(self.truths)

    def __getitem__(self, rows: BoolArray | IntArray) -> LabelPredictions:
        def part(column: Any) -> Any:
            return column if isinstance(column, Undefined) else column[rows]

        return LabelPredictions(*map(part, vars(self).values()))

    def of_relation(self, relation: Any) -> LabelPredictions:
        return self[self.relations == relation]

    def present(self, column: T | Undefined) -> T:
        """Return one of the columns; raise the reason why there is none, or that there are no triples."""
        values = defined(column)
        if len(self) == 0:
            raise Undefined("there are no triples")
        return values


def predict_labels(
    valid: ScoredLabels, test: ScoredLabels, *, calibration: Calibration = "platt", threshold: float | None = None
) -> LabelPredictions:
    """Predict labels and probabilities of test triples, with thresholds and a calibration fitted on validation triples.

    ``threshold`` is used for all relations, instead of the best thresholds on validation.
    """
    return LabelPredictions(
        test.is_true,
        test.scores,
        test.relations,
        or_reason(lambda: Thresholds.fit(valid).decide(test) if threshold is None else test.scores >= threshold),
        or_reason(lambda: calibrator(valid, calibration)(test.scores)),
    )


@dataclass(frozen=True)
class Thresholds:
    """A triple is predicted true if its score is at least the threshold of its relation."""

    global_threshold: float
    """for relations without validation triples"""
    by_relation: Mapping[Any, float]

    @classmethod
    def fit(cls, valid: ScoredLabels) -> Thresholds:
        """Choose, for each relation and for all together, the threshold with the best validation accuracy.

        The candidates are the scores themselves, so at least one triple of each relation is predicted true; of several
        best thresholds, the smallest is taken.
        """
        if len(valid) == 0:
            raise Undefined("there are no validation triples to choose thresholds on")
        relations, codes = np.unique(valid.relations, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(codes))[:-1])
        truths = valid.is_true
        of_relations = (_best(valid.scores[rows], truths[rows]) for rows in parts)
        return cls(_best(valid.scores, truths), dict(zip(relations.tolist(), of_relations, strict=True)))

    def decide(self, scored: ScoredLabels) -> BoolArray:
        """Predict the label of each triple; bool[triple]."""
        known, codes = np.unique(scored.relations, return_inverse=True)
        values = np.array([self.by_relation.get(relation, self.global_threshold) for relation in known.tolist()])
        return np.asarray(scored.scores >= values[codes])


def _best(scores: Float64Array, truths: BoolArray) -> float:
    """Return the threshold with the highest accuracy; of several, the smallest."""
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    below = np.concatenate([[0], np.cumsum(truths[order])])[starts]
    correct = (starts - below) + (truths.sum() - below)
    return float(ordered[starts[np.argmax(correct)]])


def threshold_of_precision(valid: ScoredLabels, precision: float) -> float:
    """Return the lowest validation score from which on at least the share ``precision`` of the triples is true.

    >>> threshold_of_precision(ScoredLabels([0.1, 0.4, 0.4, 0.9], [0, 1, 0, 1], ["r"] * 4), 0.6)
    0.4
    """
    order = np.argsort(-valid.scores, kind="stable")
    scores = valid.scores[order]
    ends = np.flatnonzero(np.r_[scores[1:] != scores[:-1], True][: len(scores)])
    shares = np.cumsum(valid.is_true[order])[ends] / (ends + 1)
    if not (shares >= precision).any():
        raise Undefined(f"no threshold has the precision {precision:g}: the highest is {shares.max(initial=0):.3f}")
    return float(scores[ends[np.flatnonzero(shares >= precision)[-1]]])


def calibrator(valid: ScoredLabels, calibration: Calibration = "platt") -> Calibrator:
    """Fit a function from scores to probabilities.

    ``"platt"``: 1 / (1 + exp(−(a·s + b))) of greatest likelihood, with the smoothed targets of Platt, so that a and b
    are finite for separable scores; ``"isotonic"``: the non-decreasing step function of least squares, constant beyond
    the validation scores; ``"none"``: scores are probabilities already.
    """
    if calibration == "none":
        return _checked_probabilities
    refuse_unknown("unknown calibration", calibration, CALIBRATIONS, MetricError)
    true = int(valid.is_true.sum())
    if true in (0, len(valid)):
        raise Undefined(f"the validation triples are all {'true' if true else 'false'}: calibration needs both")
    return _platt(valid) if calibration == "platt" else _isotonic(valid)


def _checked_probabilities(scores: Float64Array) -> Float64Array:
    wrong = ~((scores >= 0) & (scores <= 1))
    if wrong.any():
        example = scores[np.argmax(wrong)]
        raise Undefined(f"scores such as {example:g} are not probabilities; calibrate them (platt or isotonic)")
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
            raise ValueError("give both weight and bias, or neither: then both are fitted on validation")
        if self.kind == "raw" and self.weight is not None:
            raise ValueError("raw scores have no weight and bias. Choose logistic or bounded-linear")
        return self

    def fitted(self, valid: ScoredLabels) -> ConfidenceMapping:
        """Return the mapping with weight and bias, fitted on validation by least squares where there are none."""
        if self.kind != "raw" and valid.labels.max(initial=0) > 1:
            raise Undefined(
                f"grades up to {valid.labels.max():g}, and {self.kind} gives 0 to 1; the mapping raw keeps scores"
            )
        if self.kind == "raw" or self.weight is not None:
            return self
        if len(valid) == 0:
            raise Undefined("a mapping is fitted on validation facts, and there are none")
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


class Standardizer(NamedTuple):
    """The function that standardises scores: (2^−exponent · score − middle) / spread."""

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
        """Standardise scores; float64[score], finite also for scores far beyond the ones that it was made of."""
        with np.errstate(over="ignore"):
            values = (np.ldexp(scores, -self.exponent) - self.middle) / self.spread
        return np.clip(values, -_FAR, _FAR)

    def line(self, weight: float, bias: float) -> tuple[float, float]:
        """Turn the weight and bias for standardised scores into those for raw scores; infinite beyond float64."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(weight / self.spread, -self.exponent)), bias - weight * self.middle / self.spread


def logistic(values: Float64Array) -> Float64Array:
    from scipy.special import expit

    return np.asarray(expit(values), np.float64)


def bounded(values: Float64Array) -> Float64Array:
    return np.clip(values, 0.0, 1.0)
