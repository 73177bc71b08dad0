"""Metrics of labels: accuracy, precision, recall and F1; ROC AUC and average precision; errors of probabilities."""

from __future__ import annotations

from functools import partial

import numpy as np

from kgeval.metrics.labels.curves import reliability
from kgeval.metrics.labels.label_predictions import LabelPredictions, both_classes
from kgeval.metrics.labels.scored_labels import without_cutoff
from kgeval.metrics.metric import Metric, Undefined


def confusion(predictions: LabelPredictions) -> tuple[int, int, int]:
    """Count the true positives, the false positives and the false negatives."""
    y_true, y_pred = predictions.truths, predictions.predicted_labels()
    return int((y_true & y_pred).sum()), int((~y_true & y_pred).sum()), int((y_true & ~y_pred).sum())


def accuracy(predictions: LabelPredictions) -> float:
    """Compute the share of correct labels, (TP + TN) / n."""
    y_pred = predictions.predicted_labels()
    if len(predictions) == 0:
        raise Undefined("there are no triples")
    return float(np.mean(y_pred == predictions.truths))


def precision(predictions: LabelPredictions) -> float:
    """Compute the share of true triples among those predicted true, TP / (TP + FP)."""
    correct, wrong, _ = confusion(predictions)
    return _ratio(correct, correct + wrong, "no triple was predicted true")


def recall(predictions: LabelPredictions) -> float:
    """Compute the share of those predicted true among the true triples, TP / (TP + FN)."""
    correct, _, missed = confusion(predictions)
    return _ratio(correct, correct + missed, "no triple is true")


def f1(predictions: LabelPredictions) -> float:
    """Compute the harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN)."""
    correct, wrong, missed = confusion(predictions)
    return _ratio(2 * correct, 2 * correct + wrong + missed, "no triple is true or was predicted true")


def _ratio(count: int, total: int, undefined: str) -> float:
    if total == 0:
        raise Undefined(undefined)
    return count / total


_of_labels = partial(Metric, lowest=0, highest=1, increasing=True, needs="labels")

ACCURACY = _of_labels(
    *("accuracy", "accuracy of triple classification", "(TP + TN) / n", "Socher et al., 2013"),
    compute=without_cutoff(accuracy),
    undefined="no triples, or no validation triples to choose thresholds on",
)

PRECISION = _of_labels(
    *("precision", "precision of triple classification", "TP / (TP + FP)", "van Rijsbergen, 1979"),
    compute=without_cutoff(precision),
    undefined="no triple was predicted true",
)

RECALL = _of_labels(
    *("recall", "recall of triple classification", "TP / (TP + FN)", "van Rijsbergen, 1979"),
    compute=without_cutoff(recall),
    undefined="no triple is true",
)

F1 = _of_labels(
    *("f1", "F1 of triple classification", "2 TP / (2 TP + FP + FN)", "van Rijsbergen, 1979"),
    compute=without_cutoff(f1),
    undefined="no triple is true or was predicted true",
)


def roc_auc(predictions: LabelPredictions) -> float:
    """The share of (true, false) pairs in which the true triple scores higher; a tie counts one half."""
    from sklearn.metrics import roc_auc_score

    both_classes(predictions)
    return float(roc_auc_score(predictions.truths, predictions.scores))


def average_precision_of_triples(predictions: LabelPredictions) -> float:
    """Σ (Rₙ − Rₙ₋₁) Pₙ, the increase of recall times the precision, over the distinct scores; ties are one step."""
    from sklearn.metrics import average_precision_score

    both_classes(predictions)
    return float(average_precision_score(predictions.truths, predictions.scores))


ROC_AUC = _of_labels(
    *("roc_auc", "area under the ROC curve", "P(s⁺ > s⁻) + P(s⁺ = s⁻) / 2", "Hanley and McNeil, 1982"),
    compute=without_cutoff(roc_auc),
    synonyms=("auc", "roc_auc_score"),
    undefined="all triples are true, or all are false",
)

AVERAGE_PRECISION = _of_labels(
    *(
        "average_precision",
        "average precision of triple classification",
        "Σ (Rₙ − Rₙ₋₁) Pₙ over the distinct scores",
        "Zhu, 2004",
    ),
    compute=without_cutoff(average_precision_of_triples),
    synonyms=("pr_auc", "average_precision_score"),
    undefined="all triples are true, or all are false",
)


def brier(predictions: LabelPredictions) -> float:
    """The mean squared difference of probability and label, Σ (p − y)² / n."""
    from sklearn.metrics import mean_squared_error

    probabilities = predictions.predicted_probabilities()
    if len(predictions) == 0:
        raise Undefined("there are no triples")
    return float(mean_squared_error(predictions.truths.astype(float), probabilities))


def log_loss(predictions: LabelPredictions) -> float:
    """The mean negative log-likelihood, −Σ (y ln p + (1 − y) ln (1 − p)) / n."""
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


BRIER = _of_labels(
    *("brier", "Brier score", "Σ (p − y)² / n", "Brier, 1950"),
    increasing=False,
    compute=without_cutoff(brier),
    synonyms=("brier_score_loss",),
    undefined="no triples, or no probabilities",
)

LOG_LOSS = _of_labels(
    *("log_loss", "logarithmic loss", "−Σ (y ln p + (1 − y) ln (1 − p)) / n", "Good, 1952"),
    highest=np.inf,
    increasing=False,
    compute=without_cutoff(log_loss),
    synonyms=("nll",),
    undefined="no probabilities, or a true triple of probability 0 or a false one of 1 (an infinite loss)",
)

ECE = _of_labels(
    *(
        "ece",
        "expected calibration error",
        "Σ (n_b / n) |share true − mean p| over 15 equal bins",
        "Naeini et al., 2015",
    ),
    increasing=False,
    compute=without_cutoff(ece),
    synonyms=("expected_calibration_error",),
    undefined="no triples, or no probabilities",
)
