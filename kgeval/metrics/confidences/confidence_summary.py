"""Summaries of predicted confidences: of all facts, of those with high confidence, and of facts with negatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.metrics.confidences.confidence_metrics import ConfidencePredictions, RankedFacts
from kgeval.metrics.confidences.score_mapping import ConfidenceMapping
from kgeval.metrics.labels.label_summary import Labelled, LabelSummary, label_groups
from kgeval.metrics.labels.scored_labels import ScoredLabels
from kgeval.metrics.metric import Undefined, or_reason
from kgeval.metrics.metric_options import MetricOptions
from kgeval.metrics.names import MetricName
from kgeval.metrics.ranks.ties import Ties
from kgeval.metrics.summary import MODEL, Group

ERRORS = ("rmse", "mse", "mae")
"""the metrics that are also computed with negatives, which have no rank"""


@runtime_checkable
class ConfidenceColumns(Labelled, Protocol):
    """Scored facts, and their ranks."""

    @property
    def predictors(self) -> Sequence[str]:
        """The columns of scores: the model's ``score`` and the baselines."""

    def facts(self, split: str, scores: str = "score", *, negatives: bool = False) -> ScoredLabels:
        """Return the facts of a split with the scores of the model or of a baseline, and its negatives on request."""

    def ranked(self, scores: str = "score", *, ties: Ties = "realistic", seed: int = 0) -> RankedFacts | None:
        """Return the ranks of the test facts by the model or a baseline, under a tie policy, if it ranked."""


def confidence_summary(
    tables: ConfidenceColumns,
    names: list[MetricName],
    *,
    by: tuple[str, ...],
    mapping: ConfidenceMapping,
    high_confidence: float,
    options: MetricOptions,
) -> LabelSummary:
    """Compute metrics of predicted confidences; see :func:`kgeval.summarize`."""
    errors = [name for name in names if name.name in ERRORS]
    subset = f"confidence ≥ {high_confidence:g}"
    fitted = or_reason(lambda: mapping.fitted(tables.facts("valid")))
    groups: list[Group] = []
    for column in tables.predictors:
        predictor, own = (MODEL, fitted) if column == "score" else (column, ConfidenceMapping())
        ranks = tables.ranked(column, ties=options.ties, seed=options.seed)
        predictions = _predictions(tables.facts("test", column), own, ranks)
        groups += label_groups(predictor, predictions, names, by)
        groups += label_groups(predictor, predictions.with_confidence_at_least(high_confidence), names, facts=subset)
        with_negatives = tables.facts("test", column, negatives=True)
        if len(with_negatives) > len(predictions.confidences):
            groups += label_groups(predictor, _predictions(with_negatives, own, None), errors, facts="with negatives")
    facts = tables.facts("test")
    return LabelSummary(
        tables.provenance,
        tuple(groups),
        by,
        tuple(names),
        tuple(tables.notes),
        "confidences",
        {
            "facts": len(facts),
            "high_confidence": int((facts.labels >= high_confidence).sum()),
            "negatives": len(tables.facts("test", negatives=True)) - len(facts),
            "validation": len(tables.facts("valid")),
        },
        {
            "mapping": str(fitted) if isinstance(fitted, Undefined) else fitted.model_dump(exclude_none=True),
            "high_confidence": high_confidence,
        },
    )


def _predictions(
    facts: ScoredLabels, mapping: ConfidenceMapping | Undefined, ranks: RankedFacts | None
) -> ConfidencePredictions:
    confidences: Float64Array | Undefined = mapping if isinstance(mapping, Undefined) else mapping(facts.scores)
    return ConfidencePredictions(facts.labels, confidences, np.asarray(facts.relations), ranks)
