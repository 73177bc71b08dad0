"""Metrics of labels, such as accuracy and ROC AUC, and the curves behind them: ROC, precision and recall, reliability.

Each reads :class:`LabelPredictions`. To add a metric, decorate its function with ``@_of_labels(names, text, …)``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import Float64Array
from kgeval.metrics.labels.fitted import LabelPredictions
from kgeval.metrics.metric import Undefined, defined, measured

_of_labels = partial(measured, needs="labels")
_of_confusion = partial(_of_labels, source="van Rijsbergen, 1979")
_of_scores = partial(_of_labels, undefined="all triples are true, or all are false")
_error = partial(_of_labels, increasing=False, undefined="no triples, or no probabilities")

BINS = 15
"""bins of the reliability curve and the expected calibration error, as Guo et al. (2017)"""

Curve = dict[str, npt.NDArray[Any]]
"""the columns of a curve, by name; [point] each"""


@_of_labels(
    "accuracy",
    "accuracy of triple classification: (TP + TN) / n",
    source="Socher et al., 2013",
    undefined="no triples, or no validation triples to choose thresholds on",
)
def accuracy(predictions: LabelPredictions) -> float:
    return float(np.mean(predictions.present(predictions.decisions) == predictions.truths))


@_of_confusion(
    "precision", "precision of triple classification: TP / (TP + FP)", undefined="no triple was predicted true"
)
def precision(predictions: LabelPredictions) -> float:
    correct, wrong, _ = confusion(predictions)
    return _ratio(correct, correct + wrong, "no triple was predicted true")


@_of_confusion("recall", "recall of triple classification: TP / (TP + FN)", undefined="no triple is true")
def recall(predictions: LabelPredictions) -> float:
    correct, _, missed = confusion(predictions)
    return _ratio(correct, correct + missed, "no triple is true")


@_of_confusion(
    "f1", "F1 of triple classification: 2 TP / (2 TP + FP + FN)", undefined="no triple is true or was predicted true"
)
def f1(predictions: LabelPredictions) -> float:
    correct, wrong, missed = confusion(predictions)
    return _ratio(2 * correct, 2 * correct + wrong + missed, "no triple is true or was predicted true")


@_of_scores(
    "roc_auc auc roc_auc_score",
    "area under the ROC curve: P(s⁺ > s⁻) + P(s⁺ = s⁻) / 2",
    source="Hanley and McNeil, 1982",
)
def roc_auc(predictions: LabelPredictions) -> float:
    from sklearn.metrics import roc_auc_score

    both_classes(predictions)
    return float(roc_auc_score(predictions.truths, predictions.scores))


@_of_scores(
    "average_precision pr_auc average_precision_score",
    "average precision of triple classification: Σ (Rₙ − Rₙ₋₁) Pₙ over the distinct scores",
    source="Zhu, 2004",
)
def average_precision(predictions: LabelPredictions) -> float:
    """The increase of recall times the precision; tied scores are one step."""
    from sklearn.metrics import average_precision_score

    both_classes(predictions)
    return float(average_precision_score(predictions.truths, predictions.scores))


@_error("brier brier_score_loss", "Brier score: Σ (p − y)² / n", source="Brier, 1950")
def brier(predictions: LabelPredictions) -> float:
    from sklearn.metrics import mean_squared_error

    probabilities = predictions.present(predictions.probabilities)
    return float(mean_squared_error(predictions.truths.astype(float), probabilities))


@_error(
    "log_loss nll",
    "logarithmic loss: −Σ (y ln p + (1 − y) ln (1 − p)) / n",
    source="Good, 1952",
    highest=np.inf,
    undefined="no probabilities, or a true triple of probability 0 or a false one of 1 (an infinite loss)",
)
def log_loss(predictions: LabelPredictions) -> float:
    from scipy.special import xlog1py, xlogy

    probabilities = predictions.present(predictions.probabilities)
    wrong = int((probabilities == np.where(predictions.truths, 0.0, 1.0)).sum())
    if wrong:
        raise Undefined(f"{wrong} true triples have probability 0, or false ones 1: the loss is infinite")
    likelihoods = xlogy(predictions.truths, probabilities) + xlog1py(~predictions.truths, -probabilities)
    return float(-np.mean(likelihoods))


@_error(
    "ece expected_calibration_error",
    "expected calibration error: Σ (n_b / n) |share true − mean p| over 15 equal bins",
    source="Naeini et al., 2015",
)
def ece(predictions: LabelPredictions) -> float:
    curve = reliability(predictions)
    gaps = np.abs(curve["share_true"] - curve["mean_probability"])
    return float(np.sum(curve["triples"] * gaps) / np.sum(curve["triples"]))


def roc(predictions: LabelPredictions) -> Curve:
    """From (0, 0) to (1, 1); a threshold is the least score of a triple that is predicted true, at first infinite."""
    from sklearn.metrics import roc_curve

    both_classes(predictions)
    columns = ("false_positive_rate", "true_positive_rate", "threshold")
    return dict(zip(columns, roc_curve(predictions.truths, predictions.scores), strict=True))


def precision_recall(predictions: LabelPredictions) -> Curve:
    """From all triples predicted true to none, whose threshold is infinite."""
    from sklearn.metrics import precision_recall_curve

    both_classes(predictions)
    precision, recall, thresholds = precision_recall_curve(
        predictions.truths, predictions.scores, drop_intermediate=True
    )
    return {"precision": precision, "recall": recall, "threshold": np.append(thresholds, np.inf)}


def reliability(predictions: LabelPredictions, *, bins: int = BINS) -> Curve:
    """The share of true triples by predicted probability, in bins of the same width without the empty ones."""
    probabilities = predictions.present(predictions.probabilities)
    bin_ids = np.clip(np.ceil(probabilities * bins).astype(np.int64) - 1, 0, bins - 1)
    counts = np.bincount(bin_ids, minlength=bins)
    nonempty = counts > 0
    edges = np.arange(bins + 1) / bins

    def means(values: Float64Array) -> Float64Array:
        return np.bincount(bin_ids, values, minlength=bins)[nonempty] / counts[nonempty]

    return {
        "lowest": edges[:-1][nonempty],
        "highest": edges[1:][nonempty],
        "triples": counts[nonempty],
        "mean_probability": means(probabilities),
        "share_true": means(predictions.truths.astype(np.float64)),
    }


def confusion(predictions: LabelPredictions) -> tuple[int, int, int]:
    y_true, y_pred = predictions.truths, defined(predictions.decisions)
    return int((y_true & y_pred).sum()), int((~y_true & y_pred).sum()), int((y_true & ~y_pred).sum())


def _ratio(count: int, total: int, undefined: str) -> float:
    if total == 0:
        raise Undefined(undefined)
    return count / total


def both_classes(predictions: LabelPredictions) -> None:
    true = int(predictions.present(predictions.truths).sum())
    if true in (0, len(predictions)):
        raise Undefined(f"the triples are all {'true' if true else 'false'}")
