"""Kinds of tables: ranks, classification (labels) and confidences. Each has its usual metrics and its options.

``summarize`` takes the usual metrics and refuses options of another kind; a configuration has the options as settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from kgeval.base.settings import Settings

Needs = Literal["ranks", "lists", "labels", "confidences"]
"""the input of a metric: ranks of answers; a ranked list for each query; labelled triples; triples with confidences"""

KindName = Literal["ranks", "classification", "confidences"]

Chance = Literal["exact", "without-answer"]
"""how many candidates random ranking has: N, with the answer, as in PyKEEN's evaluator; or N − 1, without it, as in the
z-scores published by Hoyt et al. (2022)"""

Calibration = Literal["platt", "isotonic", "none"]

OPTIONS = ("ties", "seed", "chance", "popularity", "mapping", "high_confidence", "calibration", "intervals")
"""the keywords of ``kgeval.summarize`` that metrics depend on"""


@dataclass(frozen=True)
class Kind:
    """A kind of table: the inputs of its metrics, its usual metrics, and its options."""

    name: KindName
    needs: tuple[Needs, ...]
    metrics: tuple[str, ...]
    """the metrics that are computed by default"""
    without: Mapping[str, str]
    """the options that this kind does not have, each with the reason"""

    @property
    def options(self) -> list[str]:
        return [name for name in OPTIONS if name not in self.without]


OF_CONFIDENCES = dict.fromkeys(("mapping", "high_confidence"), "only metrics of confidences, such as rmse, use it")

RANKS = Kind(
    "ranks",
    ("ranks", "lists"),
    ("mrr", "hits@1", "hits@3", "hits@10", "mr", "amri", "count"),
    {"calibration": "only the scores of labelled triples are calibrated, not ranks", **OF_CONFIDENCES},
)

CLASSIFICATION = Kind(
    "classification",
    ("labels",),
    (
        *("accuracy", "precision", "recall", "f1", "relation.accuracy", "relation.f1"),
        *("roc_auc", "average_precision", "brier", "log_loss", "ece"),
    ),
    {
        **dict.fromkeys(("ties", "seed"), "a classification has no ranks, so no ties"),
        "chance": "only metrics of ranks are compared with chance",
        "popularity": "only metrics of ranks are weighted by popularity",
        **OF_CONFIDENCES,
    },
)

CONFIDENCES = Kind(
    "confidences",
    ("confidences",),
    ("rmse", "mse", "mae", "graded-ndcg", "graded-ndcg-exp", "wmr", "wmrr"),
    {
        "intervals": "metrics of confidences have no intervals; kgeval summarize computes those of its ranks",
        "chance": "only metrics of ranks are compared with chance, such as amri",
        "popularity": "only metrics of ranks are weighted by popularity, such as strat.mrr",
        "calibration": "it does not work with confidences. --mapping (mapping=) sets how scores become confidences",
    },
)

KINDS: dict[str, Kind] = {kind.name: kind for kind in (RANKS, CLASSIFICATION, CONFIDENCES)}


class LabelOptions(Settings):
    """The options of classification metrics."""

    kind: Literal["classification"] = "classification"
    """triples are classified as true or false"""
    calibration: Calibration = "platt"
    """how scores become probabilities: platt or isotonic, fitted on validation, or none (scores are probabilities)"""


class ConfidenceOptions(Settings):
    """The options of metrics of confidences; their tasks have the mapping too."""

    kind: Literal["confidences"] = "confidences"
    """the confidences of facts are predicted"""
    high_confidence: Annotated[float, Field(gt=0, le=1)] = 0.7
    """the confidence from which a fact is in the high-confidence subset, whose metrics are computed too"""
