"""Triple classification: accuracy, precision, recall and F1 of the predicted labels."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from kgeval.metrics.labels.label_predictions import LabelPredictions
from kgeval.metrics.labels.scored_labels import without_cutoff
from kgeval.metrics.metric import Metric, Undefined


class Confusion(NamedTuple):
    """The confusion matrix: the number of triples by label and predicted label."""

    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int


def confusion(predictions: LabelPredictions) -> Confusion:
    """Count the pairs of label and predicted label."""
    y_true, y_pred = predictions.truths, predictions.predicted_labels()
    cells = (y_true & y_pred, ~y_true & y_pred, ~y_true & ~y_pred, y_true & ~y_pred)
    return Confusion(*(int(cell.sum()) for cell in cells))


def accuracy(predictions: LabelPredictions) -> float:
    """Compute the share of correct labels, (TP + TN) / n."""
    y_pred = predictions.predicted_labels()
    if len(predictions) == 0:
        raise Undefined("there are no triples")
    return float(np.mean(y_pred == predictions.truths))


def precision(predictions: LabelPredictions) -> float:
    """Compute the share of true triples among those predicted true, TP / (TP + FP)."""
    counts = confusion(predictions)
    return _ratio(counts.true_positives, counts.true_positives + counts.false_positives, "no triple was predicted true")


def recall(predictions: LabelPredictions) -> float:
    """Compute the share of those predicted true among the true triples, TP / (TP + FN)."""
    counts = confusion(predictions)
    return _ratio(counts.true_positives, counts.true_positives + counts.false_negatives, "no triple is true")


def f1(predictions: LabelPredictions) -> float:
    """Compute the harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN)."""
    counts = confusion(predictions)
    errors = counts.false_positives + counts.false_negatives
    correct = 2 * counts.true_positives
    return _ratio(correct, correct + errors, "no triple is true or was predicted true")


def _ratio(count: int, total: int, undefined: str) -> float:
    if total == 0:
        raise Undefined(undefined)
    return count / total


_of_labels = partial(Metric, lowest=0, highest=1, increasing=True, needs="labels")

ACCURACY = _of_labels(
    name="accuracy",
    title="accuracy of triple classification",
    formula="(TP + TN) / n",
    source="Socher et al., 2013",
    compute=without_cutoff(accuracy),
    undefined="no triples, or no validation triples to choose thresholds on",
)

PRECISION = _of_labels(
    name="precision",
    title="precision of triple classification",
    formula="TP / (TP + FP)",
    source="van Rijsbergen, 1979",
    compute=without_cutoff(precision),
    undefined="no triple was predicted true",
)

RECALL = _of_labels(
    name="recall",
    title="recall of triple classification",
    formula="TP / (TP + FN)",
    source="van Rijsbergen, 1979",
    compute=without_cutoff(recall),
    undefined="no triple is true",
)

F1 = _of_labels(
    name="f1",
    title="F1 of triple classification",
    formula="2 TP / (2 TP + FP + FN)",
    source="van Rijsbergen, 1979",
    compute=without_cutoff(f1),
    undefined="no triple is true or was predicted true",
)
