"""ROC AUC and average precision: how well the scores order true above false triples, without a threshold."""

from __future__ import annotations

from kgeval.metrics.labels.label_predictions import LabelPredictions, both_classes
from kgeval.metrics.labels.scored_labels import without_cutoff
from kgeval.metrics.metric import Metric


def roc_auc(predictions: LabelPredictions) -> float:
    """The share of (true, false) pairs in which the true triple scores higher; a tie counts one half.

    Raises
    ------
    Undefined
        if the triples are all true or all false
    """
    from sklearn.metrics import roc_auc_score

    both_classes(predictions)
    return float(roc_auc_score(predictions.truths, predictions.scores))


def average_precision_of_triples(predictions: LabelPredictions) -> float:
    """Σ (Rₙ − Rₙ₋₁) Pₙ, the increase of recall times the precision, over the distinct scores; ties are one step.

    Raises
    ------
    Undefined
        if the triples are all true or all false
    """
    from sklearn.metrics import average_precision_score

    both_classes(predictions)
    return float(average_precision_score(predictions.truths, predictions.scores))


ROC_AUC = Metric(
    name="roc_auc",
    title="area under the ROC curve",
    formula="P(s⁺ > s⁻) + P(s⁺ = s⁻) / 2",
    source="Hanley and McNeil, 1982",
    lowest=0,
    highest=1,
    increasing=True,
    needs="labels",
    compute=without_cutoff(roc_auc),
    synonyms=("auc", "roc_auc_score"),
    undefined="all triples are true, or all are false",
)

AVERAGE_PRECISION = Metric(
    name="average_precision",
    title="average precision of triple classification",
    formula="Σ (Rₙ − Rₙ₋₁) Pₙ over the distinct scores",
    source="Zhu, 2004",
    lowest=0,
    highest=1,
    increasing=True,
    needs="labels",
    compute=without_cutoff(average_precision_of_triples),
    synonyms=("pr_auc", "average_precision_score"),
    undefined="all triples are true, or all are false",
)
