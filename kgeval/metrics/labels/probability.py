"""Brier score, logarithmic loss and calibration error: the agreement of probabilities with labels."""

from __future__ import annotations

import numpy as np

from kgeval.metrics.labels.curves import reliability
from kgeval.metrics.labels.label_predictions import LabelPredictions
from kgeval.metrics.labels.scored_labels import without_cutoff
from kgeval.metrics.metric import Metric, Undefined


def brier(predictions: LabelPredictions) -> float:
    """The mean squared difference of probability and label, Σ (p − y)² / n."""
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
        if a triple of probability 0 is true, or one of probability 1 is false: the loss is infinite
    """
    from scipy.special import xlog1py, xlogy

    probabilities = predictions.predicted_probabilities()
    if len(predictions) == 0:
        raise Undefined("there are no triples")
    wrong = int((probabilities == np.where(predictions.truths, 0.0, 1.0)).sum())
    if wrong:
        raise Undefined(f"{wrong} true triples have probability 0, or false ones 1: the loss is infinite")
    likelihoods = xlogy(predictions.truths, probabilities) + xlog1py(~predictions.truths, -probabilities)
    return float(-np.mean(likelihoods))


def ece(predictions: LabelPredictions) -> float:
    """The expected calibration error, Σ (n_b / n) |share true − mean p| over 15 equal bins."""
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
    undefined="no probabilities, or a true triple of probability 0 or a false one of 1 (an infinite loss)",
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
