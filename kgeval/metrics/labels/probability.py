"""Brier score, logarithmic loss and calibration error: how well probabilities agree with the labels."""

from __future__ import annotations

import numpy as np

from kgeval.metrics.labels.curves import reliability
from kgeval.metrics.labels.label_predictions import LabelPredictions
from kgeval.metrics.labels.scored_labels import without_cutoff
from kgeval.metrics.metric import Metric, Undefined


def brier(predictions: LabelPredictions) -> float:
    """The mean squared difference between probability and truth, Σ (p − y)² / n."""
    from sklearn.metrics import mean_squared_error

    probabilities = predictions.predicted_probabilities()
    if len(predictions) == 0:
        raise Undefined("there are no triples")
    return float(mean_squared_error(predictions.truths.astype(float), probabilities))


def log_loss(predictions: LabelPredictions) -> float:
    """The mean negative log-likelihood, −Σ (y ln p + (1 − y) ln (1 − p)) / n.

    Raises
    ------
    Undefined
        if a triple was certain to be false and is true, or the reverse: the loss is infinite
    """
    from scipy.special import xlog1py, xlogy

    probabilities = predictions.predicted_probabilities()
    if len(predictions) == 0:
        raise Undefined("there are no triples")
    refuted = int((probabilities == np.where(predictions.truths, 0.0, 1.0)).sum())
    if refuted:
        raise Undefined(f"{refuted} triples were certain (probability 0 or 1) and are not so: the loss is infinite")
    likely = xlogy(predictions.truths, probabilities) + xlog1py(~predictions.truths, -probabilities)
    return float(-np.mean(likely))


def ece(predictions: LabelPredictions) -> float:
    """The expected calibration error, Σ (triples of a bin / n) · |share true − mean probability|, of 15 equal bins."""
    curve = reliability(predictions)
    gaps = np.abs(curve.share_true - curve.mean_probability)
    return float(np.sum(curve.triples * gaps) / np.sum(curve.triples))


BRIER = Metric(
    name="brier",
    title="Brier score",
    formula="Σ (p − y)² / n",
    source="Brier, 1950",
    lowest=0,
    highest=1,
    increasing=False,
    needs="labels",
    compute=without_cutoff(brier),
    synonyms=("brier_score_loss",),
    undefined="no triples, or no probabilities",
)

LOG_LOSS = Metric(
    name="log_loss",
    title="logarithmic loss",
    formula="−Σ (y ln p + (1 − y) ln (1 − p)) / n",
    source="Good, 1952",
    lowest=0,
    highest=np.inf,
    increasing=False,
    needs="labels",
    compute=without_cutoff(log_loss),
    synonyms=("nll",),
    undefined="no probabilities, or a triple that was certain is not so (an infinite loss)",
)

ECE = Metric(
    name="ece",
    title="expected calibration error",
    formula="Σ (n_b / n) |share true − mean p| over 15 equal bins",
    source="Naeini et al., 2015",
    lowest=0,
    highest=1,
    increasing=False,
    needs="labels",
    compute=without_cutoff(ece),
    synonyms=("expected_calibration_error",),
    undefined="no triples, or no probabilities",
)
