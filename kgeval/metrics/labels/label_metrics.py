"""Metrics of labels, such as accuracy and ROC AUC, and the curves behind them: ROC, precision and recall, reliability.

Each metric reads :class:`LabelPredictions`, which ``label_summary.py`` passes to it. ``_of_confusion`` declares a ratio
of TP, FP, FN and TN by its formula, ``_of_sums`` a ratio of other sums over triples, ``declared`` or ``@measured`` any
other metric. A metric whose function is :class:`Linearised` has intervals and tests (``label_intervals.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.metrics.labels.fitted import LabelPredictions
from kgeval.metrics.metric import Metric, Undefined, declared, measured

BINS = 15
"""bins of the reliability curve and the expected calibration error, as Guo et al. (2017)"""

Curve = dict[str, npt.NDArray[Any]]
"""the columns of a curve, by name; [point] each"""

Terms = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""what each triple adds to the numerator and to the denominator; [triple] both"""


@dataclass(frozen=True)
class Linearised:
    """The function of a metric, with its derivative by the weight of each triple: what the triple adds to it."""

    value: Callable[[LabelPredictions], float]
    contributions: Callable[[LabelPredictions], Float64Array]
    """what each triple adds to the metric; float64[triple], with the sum 0"""
    weighed: Callable[[LabelPredictions], int] = len
    """the number of triples that the value rests on, such as the triples that are predicted true"""

    def __call__(self, data: LabelPredictions, _: int) -> float:
        return self.value(data)


def _of_sums(names: str, text: str, terms: Callable[..., Terms], *, undefined: str, **further: Any) -> Metric:
    """Declare a ratio of sums over triples, undefined where the denominator is 0."""

    def value(data: LabelPredictions) -> float:
        above, below = terms(data)
        if not (total := below.sum()):
            raise Undefined(undefined)
        return float(above.sum() / total)

    def contributions(data: LabelPredictions) -> Float64Array:
        above, below = terms(data)
        return np.asarray((above - value(data) * below) / below.sum(), np.float64)

    compute = Linearised(value, contributions, lambda data: int(np.count_nonzero(terms(data)[1])))
    return declared(names, text, compute, needs="labels", undefined=undefined, **further)


def _of_confusion(names: str, title: str, formula: str, undefined: str, **further: Any) -> Metric:
    """Declare a ratio of sums of TP, FP, FN and TN, which is computed as its formula is written."""
    above, below = map(_weights, formula.split(" / "))

    def terms(data: LabelPredictions) -> Terms:
        places = 2 * ~data.present(data.decisions) + ~data.truths
        return above[places], below[places]

    about = {"source": "van Rijsbergen, 1979", "undefined": undefined} | further
    return _of_sums(names, f"{title} of triple classification: {formula}", terms, **about)


def _weights(formula: str) -> IntArray:
    """How often TP, FP, FN and TN occur in a sum, where n is the sum of all four; int64[4].

    >>> _weights("(2 TP + FP + FN)"), _weights("n")
    (array([2, 1, 1, 0]), array([1, 1, 1, 1]))
    """
    spelled = formula.replace("n", "TP + FP + FN + TN")
    return np.array([spelled.count(cell) + spelled.count(f"2 {cell}") for cell in ("TP", "FP", "FN", "TN")])


def _error(names: str, text: str, **further: Any) -> Callable[[Callable[..., Terms]], Metric]:
    """Declare, by a decorator, a ratio of sums of which less is better."""
    return lambda terms: _of_sums(names, text, terms, increasing=False, **further)


NO_LABELS = "no triples, or no validation triples to choose thresholds on"
ACCURACY = _of_confusion("accuracy", "accuracy", "(TP + TN) / n", NO_LABELS, source="Socher et al., 2013")
PRECISION = _of_confusion("precision ppv", "precision", "TP / (TP + FP)", "no triple was predicted true")
RECALL = _of_confusion("recall sensitivity tpr", "recall (sensitivity)", "TP / (TP + FN)", "no triple is true")
F1 = _of_confusion("f1", "F1", "2 TP / (2 TP + FP + FN)", "no triple is true or was predicted true")

SPECIFICITY = _of_confusion(
    "specificity tnr", "specificity", "TN / (TN + FP)", "no triple is false", source="Yerushalmy, 1947"
)
FALL_OUT = _of_confusion("fall-out fallout fpr", "fall-out", "FP / (FP + TN)", "no triple is false", increasing=False)

_of_scores = partial(declared, needs="labels", undefined="all triples are true, or all are false")


def auc_contributions(predictions: LabelPredictions) -> Float64Array:
    """What each triple adds to the AUC: (V_i − AUC) / size of its class; float64[triple].

    V_i is the share of the other class that the score of triple i is on the right side of.
    """
    from scipy.stats import rankdata

    both_classes(predictions)
    truths, scores = predictions.truths, predictions.scores
    ranks, found = rankdata(scores), np.empty(len(scores))
    for rows, sign in ((truths, 1), (~truths, -1)):
        placements = sign * (ranks[rows] - rankdata(scores[rows])) / (~rows).sum()
        found[rows] = (placements - placements.mean()) / rows.sum()
    return found


def precision_contributions(predictions: LabelPredictions) -> Float64Array:
    """What each triple adds to the average precision, AP = Σ_i y_i P_i / M of the M true triples; float64[triple].

    y is 1 for a true triple, else 0; s is the score. P_i = a_i / b_i is the precision among the b_i triples with at
    least the score of i. Triple k adds (y_k (P_k − AP) + Σ_{i true, s_i ≤ s_k} (y_k − P_i) / b_i) / M.
    """
    both_classes(predictions)
    order = np.argsort(-predictions.scores, kind="stable")
    true, scores = predictions.truths[order].astype(np.float64), predictions.scores[order]
    start, size = (np.searchsorted(-scores, -scores, side) for side in ("left", "right"))
    precision = np.cumsum(true)[size - 1] / size
    mean = true @ precision / true.sum()

    def from_group(terms: Float64Array) -> Float64Array:
        return np.asarray(np.cumsum(terms[::-1])[::-1][start], np.float64)

    found = np.empty(len(scores))
    terms = true * (precision - mean) + true * from_group(true / size) - from_group(true * precision / size)
    found[order] = terms / true.sum()
    return found


def _roc_auc(predictions: LabelPredictions) -> float:
    from sklearn.metrics import roc_auc_score

    both_classes(predictions)
    return float(roc_auc_score(predictions.truths, predictions.scores))


def _average_precision(predictions: LabelPredictions) -> float:
    """Sum the increases of recall times the precision; triples with the same score are one step."""
    from sklearn.metrics import average_precision_score

    both_classes(predictions)
    return float(average_precision_score(predictions.truths, predictions.scores))


roc_auc = _of_scores(
    "roc_auc auc roc_auc_score",
    "area under the ROC curve: P(s⁺ > s⁻) + P(s⁺ = s⁻) / 2",
    Linearised(_roc_auc, auc_contributions),
    source="Hanley and McNeil, 1982",
)


def _by_labels(data: LabelPredictions) -> LabelPredictions:
    """The same with predicted labels as scores: the area under their ROC curve is the balanced accuracy."""
    return replace(data, scores=np.asarray(data.present(data.decisions), np.float64))


BALANCED_ACCURACY = _of_scores(
    "balanced_accuracy balanced-accuracy balanced_accuracy_score",
    "balanced accuracy of triple classification: (TP / (TP + FN) + TN / (TN + FP)) / 2",
    Linearised(lambda data: _roc_auc(_by_labels(data)), lambda data: auc_contributions(_by_labels(data))),
    source="Brodersen et al., 2010",
)

average_precision = _of_scores(
    "average_precision pr_auc average_precision_score",
    "average precision of triple classification: Σ (Rₙ − Rₙ₋₁) Pₙ over the distinct scores",
    Linearised(_average_precision, precision_contributions),
    source="Zhu, 2004",
)


def _correlation(predictions: LabelPredictions) -> tuple[float, Float64Array]:
    """Compute the correlation of true and predicted labels, and what each triple adds to it, float64[triple]."""
    true, called = (it - it.mean() for it in (predictions.truths, predictions.present(predictions.decisions)))
    if not (true.any() and called.any()):
        raise Undefined("all triples are true, or all are false, or all were predicted to be the same")
    true, called = true / np.linalg.norm(true), called / np.linalg.norm(called)
    correlation = float(true @ called)
    return correlation, true * called - correlation * (true**2 + called**2) / 2


MCC = _of_scores(
    "mcc matthews phi matthews_corrcoef",
    "Matthews' correlation coefficient: (TP TN − FP FN) / √((TP + FP) (TP + FN) (TN + FP) (TN + FN))",
    Linearised(lambda data: _correlation(data)[0], lambda data: _correlation(data)[1]),
    source="Matthews, 1975",
    lowest=-1,
    undefined="all triples are true, or all are false, or all were predicted to be the same",
)


@_error(
    "brier brier_score_loss",
    "Brier score: Σ (p − y)² / n",
    source="Brier, 1950",
    undefined="no triples, or no probabilities",
)
def brier(predictions: LabelPredictions) -> Terms:
    errors = (predictions.present(predictions.probabilities) - predictions.truths) ** 2
    return errors, np.ones(len(errors))


@_error(
    "log_loss nll",
    "logarithmic loss: −Σ (y ln p + (1 − y) ln (1 − p)) / n",
    source="Good, 1952",
    highest=np.inf,
    undefined="no probabilities, or a true triple of probability 0 or a false one of 1 (an infinite loss)",
)
def log_loss(predictions: LabelPredictions) -> Terms:
    from scipy.special import xlog1py, xlogy

    probabilities = predictions.present(predictions.probabilities)
    wrong = int((probabilities == np.where(predictions.truths, 0.0, 1.0)).sum())
    if wrong:
        raise Undefined(f"{wrong} true triples have probability 0, or false ones 1: the loss is infinite")
    likelihoods = xlogy(predictions.truths, probabilities) + xlog1py(~predictions.truths, -probabilities)
    return -likelihoods, np.ones(len(likelihoods))


@measured(
    "ece expected_calibration_error",
    "expected calibration error: Σ (n_b / n) |share true − mean p| over 15 equal bins",
    source="Naeini et al., 2015",
    needs="labels",
    increasing=False,
    undefined="no triples, or no probabilities",
)
def ece(predictions: LabelPredictions) -> float:
    curve = reliability(predictions)
    gaps = np.abs(curve["share_true"] - curve["mean_probability"])
    return float(np.sum(curve["triples"] * gaps) / np.sum(curve["triples"]))


def roc(predictions: LabelPredictions) -> Curve:
    """The ROC curve from (0, 0) to (1, 1); a threshold is the least score that is predicted true, at first infinite."""
    from sklearn.metrics import roc_curve

    both_classes(predictions)
    columns = ("false_positive_rate", "true_positive_rate", "threshold")
    return dict(zip(columns, roc_curve(predictions.truths, predictions.scores), strict=True))


def precision_recall(predictions: LabelPredictions) -> Curve:
    """Precision and recall from all triples predicted true to none, where the threshold is infinite."""
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


def both_classes(predictions: LabelPredictions) -> None:
    """Refuse triples that are all true or all false."""
    true = int(predictions.present(predictions.truths).sum())
    if true in (0, len(predictions)):
        raise Undefined(f"the triples are all {'true' if true else 'false'}")
