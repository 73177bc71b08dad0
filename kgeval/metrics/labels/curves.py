"""Curves: ROC, precision and recall, reliability; each a named tuple of arrays of the same length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.errors import MetricError
from kgeval.metrics.labels.label_predictions import LabelPredictions, both_classes

BINS = 15
"""bins of the reliability curve and the expected calibration error, as Guo et al. (2017)"""


class ROC(NamedTuple):
    """A receiver operating characteristic, from (0, 0) to (1, 1); float64[point] each."""

    false_positive_rate: Float64Array
    true_positive_rate: Float64Array
    threshold: Float64Array
    """the least score of a triple that is predicted true; of the first point, infinite"""


class PrecisionRecall(NamedTuple):
    """A precision-recall curve, from all triples predicted true to none; float64[point] each."""

    precision: Float64Array
    recall: Float64Array
    threshold: Float64Array
    """the least score of a triple that is predicted true; of the last point, infinite"""


class Reliability(NamedTuple):
    """The share of true triples by predicted probability; one row per bin that is not empty."""

    lowest: Float64Array
    """float64[bin], the lower end, which is in the first bin only"""
    highest: Float64Array
    triples: IntArray
    mean_probability: Float64Array
    share_true: Float64Array


def roc(predictions: LabelPredictions) -> ROC:
    from sklearn.metrics import roc_curve

    both_classes(predictions)
    return ROC(*roc_curve(predictions.truths, predictions.scores))


def precision_recall(predictions: LabelPredictions) -> PrecisionRecall:
    from sklearn.metrics import precision_recall_curve

    both_classes(predictions)
    precision, recall, thresholds = precision_recall_curve(
        predictions.truths, predictions.scores, drop_intermediate=True
    )
    return PrecisionRecall(precision, recall, np.append(thresholds, np.inf))


def reliability(predictions: LabelPredictions, *, bins: int = BINS) -> Reliability:
    """Compute the reliability curve: triples by their probability, in bins of the same width.

    >>> truths, probabilities = np.array([True, True, False]), np.array([1, 0.9, 0.2])
    >>> sure = LabelPredictions(truths, probabilities, np.zeros(3), truths, probabilities)
    >>> curve = reliability(sure, bins=2)
    >>> curve.triples, curve.mean_probability, curve.share_true
    (array([1, 2]), array([0.2 , 0.95]), array([0., 1.]))
    """
    if bins < 1:
        raise MetricError(f"a reliability curve needs at least one bin, found {bins}.")
    probabilities = predictions.predicted_probabilities()
    predictions.refuse_none()
    bin_ids = np.clip(np.ceil(probabilities * bins).astype(np.int64) - 1, 0, bins - 1)
    counts = np.bincount(bin_ids, minlength=bins)
    nonempty = counts > 0
    edges = np.arange(bins + 1) / bins

    def means(values: Float64Array) -> Float64Array:
        return np.bincount(bin_ids, values, minlength=bins)[nonempty] / counts[nonempty]

    shares = means(predictions.truths.astype(np.float64))
    return Reliability(edges[:-1][nonempty], edges[1:][nonempty], counts[nonempty], means(probabilities), shares)
