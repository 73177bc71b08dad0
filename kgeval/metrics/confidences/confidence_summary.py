"""Summaries of predicted confidences: of all facts, of those with high confidence, and with negatives beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.errors import MetricError
from kgeval.metrics.confidences.facts import ConfidencePredictions, RankedFacts
from kgeval.metrics.confidences.score_mapping import ConfidenceMapping
from kgeval.metrics.labels.label_names import parse_label_metrics
from kgeval.metrics.labels.label_summary import MODEL, LabelSummary, ResultRow, lines_of
from kgeval.metrics.labels.scored_labels import ScoredLabels
from kgeval.metrics.metric import Undefined
from kgeval.metrics.ranks.ties import Ties
from kgeval.provenance import LabelProvenance

ERRORS = ("rmse", "mse", "mae")
"""the metrics that negatives, which have no rank, have too"""

CONFIDENCES = (*ERRORS, "graded-ndcg", "graded-ndcg-exp", "wmr", "wmrr")
"""the metrics of a prediction of confidences that names none"""


@runtime_checkable
class ConfidenceColumns(Protocol):
    """What a summary reads: scored facts, and their ranks."""

    @property
    def predictors(self) -> Sequence[str]:
        """The columns of scores: the model's ``score`` and the baselines."""
        ...

    @property
    def provenance(self) -> LabelProvenance:
        """What the facts, and their ranks, are of."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the results should know."""
        ...

    def facts(self, split: str, scores: str = "score", *, negatives: bool = False) -> ScoredLabels:
        """Return the facts of a split with the scores of the model or of a baseline, and its negatives on request."""
        ...

    def ranked(self, scores: str = "score", *, ties: Ties = "realistic", seed: int = 0) -> RankedFacts | None:
        """Return the ranks of the test facts by the model or a baseline, under a tie policy, if it ranked."""
        ...


def summarize_confidences(
    tables: ConfidenceColumns,
    metrics: Sequence[str] = CONFIDENCES,
    *,
    mapping: ConfidenceMapping | None = None,
    high: float = 0.7,
    ties: Ties = "realistic",
    seed: int = 0,
    by_relation: bool = False,
) -> LabelSummary:
    """Compute metrics of predicted confidences, of the model and of the baselines.

    Parameters
    ----------
    tables
        the facts and their ranks
    metrics
        names ``[macro.]name``
    mapping
        how the model's scores become confidences; raw by default. Baselines predict confidences as they are
    high
        from which confidence on a fact belongs to the subset, whose metrics are given too
    ties, seed
        the tie policy of the weighted ranks, and the seed of random ties
    by_relation
        whether to add the metrics of each relation

    Raises
    ------
    MetricError
        if a name is unknown, or if there are no confidences
    """
    if not isinstance(tables, ConfidenceColumns):
        raise MetricError(f"expected the tables that kgeval.Confidences makes, found {type(tables).__name__}.")
    names = parse_label_metrics(metrics, confidences=True)
    lines: list[ResultRow] = []
    fitted = _fitted(mapping or ConfidenceMapping(), tables)
    for column in tables.predictors:
        predictor, mapped = (MODEL, fitted) if column == "score" else (column, ConfidenceMapping())
        ranked = tables.ranked(column, ties=ties, seed=seed)
        whole = _confided(tables.facts("test", column), mapped, ranked)
        lines += lines_of(predictor, whole, names, by_relation=by_relation)
        lines += lines_of(
            predictor, whole.with_confidence_at_least(high), names, by_relation=False, facts=f"confidence ≥ {high:g}"
        )
        everything = tables.facts("test", column, negatives=True)
        if len(everything) > len(whole.confidences):
            errors = [name for name in names if name.metric.name in ERRORS]
            both = _confided(everything, mapped, None)
            lines += lines_of(predictor, both, errors, by_relation=False, facts="with negatives")
    facts, everything = tables.facts("test"), tables.facts("test", negatives=True)
    counts = {
        "facts": len(facts),
        "high": int((facts.labels >= high).sum()),
        "negatives": len(everything) - len(facts),
        "validation": len(tables.facts("valid")),
    }
    details = {"mapping": str(fitted) if isinstance(fitted, Undefined) else fitted.model_dump(exclude_none=True)}
    return LabelSummary(
        "confidences",
        tables.provenance,
        counts,
        tuple(lines),
        {**details, "high": high},
        table_notes=tuple(tables.notes),
    )


def _confided(
    facts: ScoredLabels, mapping: ConfidenceMapping | Undefined, ranked: RankedFacts | None
) -> ConfidencePredictions:
    predicted: Float64Array | Undefined = mapping if isinstance(mapping, Undefined) else mapping(facts.scores)
    return ConfidencePredictions(facts.labels, predicted, np.asarray(facts.relations), ranked)


def _fitted(mapping: ConfidenceMapping, tables: ConfidenceColumns) -> ConfidenceMapping | Undefined:
    try:
        return mapping.fitted(tables.facts("valid"))
    except Undefined as reason:
        return reason
