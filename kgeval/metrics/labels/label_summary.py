"""Summaries of labels and of confidences: metrics of the model and of every baseline, in groups by relation or not.

``summarize`` calls ``label_summary`` for the table of ``kgeval.classify``, and ``confidence_summary`` for the table of
``kgeval.tasks.Confidences``; both return a :class:`LabelSummary`. The protocols :class:`LabelColumns` and
:class:`ConfidenceColumns` declare the members of these tables that are read here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from kgeval.base.arrays import Float64Array
from kgeval.base.notes import Note, amount, in_json
from kgeval.base.tables.table import Table
from kgeval.data.provenance import LabelProvenance
from kgeval.metrics.confidence_metrics import ConfidencePredictions, RankedFacts
from kgeval.metrics.intervals.interval import Intervals
from kgeval.metrics.kinds import Calibration
from kgeval.metrics.labels.fitted import ConfidenceMapping, LabelPredictions, Thresholds, predict_labels
from kgeval.metrics.labels.label_intervals import label_interval
from kgeval.metrics.labels.label_metrics import precision_recall, reliability, roc
from kgeval.metrics.labels.scored_labels import ScoredLabels
from kgeval.metrics.metric import Undefined, or_reason
from kgeval.metrics.names import MetricName
from kgeval.metrics.rank_summary import interval_notes
from kgeval.metrics.ranks.ties import Ties
from kgeval.metrics.selection import MetricOptions
from kgeval.metrics.summary import MODEL, Group, Summary, Value

Predictions = LabelPredictions | ConfidencePredictions

ERRORS = ("rmse", "mse", "mae")
"""the metrics that are also computed with negatives: they need no ranks, which negatives do not have"""


@dataclass(frozen=True, repr=False)
class LabelSummary(Summary):
    """Metrics of labelled triples or of confidences; the model's groups come first, then those of each baseline."""

    counts: dict[str, int] = field(default_factory=dict)
    """the number of triples by split and label"""
    details: dict[str, Any] = field(default_factory=dict)
    """the settings of the model's metrics: calibration and thresholds, or the mapping of scores to confidences"""
    curves: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    """the model's curves, by name and column"""
    intervals: Intervals | None = None
    """the resampled unit and the level, if intervals were requested"""
    predictions: Mapping[str, LabelPredictions] = field(default_factory=dict, repr=False, compare=False)
    """of a classification: the predicted test triples, by the model and each baseline"""
    pooled: ClassVar[None] = None
    """labels have no sides"""
    ties: ClassVar[str] = ""

    @property
    def further_options(self) -> dict[str, Any]:
        """The option that some of the numbers depend on."""
        return {"calibration": self.details["calibration"]} if "calibration" in self.details else {}

    def columns(self, by: Collection[str] = ()) -> list[MetricName]:
        """The requested metrics; in groups by relation, without means over relations."""
        return [name for name in self.requested if not (by and name.average)]

    @property
    def heads(self) -> tuple[str, ...]:
        return (*self.provenance.heads, *([str(self.intervals)] if self.intervals else []))

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the table, why metrics are undefined, and how many relations a mean over relations leaves out.

        Undefined metrics of single relations are in ``groups`` only.
        """
        notes = list(self.table_notes)
        for group in self.groups:
            if "relation" in group.key:
                continue
            label = ", ".join([group.predictor, *map(str, group.key.values())])
            undefined = (f"{label}: {metric} is undefined: {reason}." for metric, reason in group.undefined.items())
            notes += [Note("undefined", words) for words in undefined]
            where = " in which it is undefined."
            notes += [
                Note("undefined", f"{label}: {metric} leaves out ", amount(count, "relation"), where)
                for metric, count in group.left_out.items()
            ]
        if self.intervals is not None:
            notes += interval_notes([group for group in self.groups if group.predictor == MODEL])
        return tuple(notes)

    def to_dict(self) -> dict[str, Any]:
        overall = {group.predictor: _content(group) for group in self.groups if not group.key}
        groups = [{"predictor": of.predictor, "key": of.key, **_content(of)} for of in self.groups if of.key]
        metrics = {name: content.pop("metrics") for name, content in overall.items()}
        remarks = {name: content for name, content in overall.items() if content}
        return {
            "schema": 1,
            "kind": self.kind,
            "provenance": self.provenance.to_dict(),
            "split": "test",
            "triples": self.counts,
            **in_json(self.notes),
            "metrics": metrics,
            **({"remarks": remarks} if remarks else {}),
            **({"groups": groups} if groups else {}),
            **self.details,
        }

    def tables(self) -> tuple[Table, ...]:
        return (label_table({MODEL: self}),)


def label_summary(
    table: LabelColumns,
    names: list[MetricName],
    *,
    by: tuple[str, ...],
    calibration: Calibration,
    intervals: Intervals | None = None,
) -> LabelSummary:
    """Compute metrics of triple classification; see :func:`kgeval.summarize`."""
    valid, test = table.scored("valid"), table.scored("test")
    predictions = {MODEL: predict_labels(valid, test, calibration=calibration)}
    for baseline, threshold in table.baselines.items():
        scored = (table.scored("valid", baseline), table.scored("test", baseline))
        predictions[baseline] = predict_labels(*scored, calibration=calibration, threshold=threshold)
    true = int(test.is_true.sum())
    return LabelSummary(
        table.provenance,
        tuple(
            group
            for predictor, data in predictions.items()
            for group in label_groups(predictor, data, names, by, intervals)
        ),
        by,
        tuple(names),
        tuple(table.notes),
        "classification",
        {"judged": len(test), "true": true, "false": len(test) - true, "validation": len(valid)},
        {"calibration": calibration, **_thresholds(valid)},
        _curves(predictions[MODEL]),
        intervals,
        predictions,
    )


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
        predictor, of_scores = (MODEL, fitted) if column == "score" else (column, ConfidenceMapping())
        ranks = tables.ranked(column, ties=options.ties, seed=options.seed)
        predictions = _predictions(tables.facts("test", column), of_scores, ranks)
        groups += label_groups(predictor, predictions, names, by)
        groups += label_groups(predictor, predictions.with_confidence_at_least(high_confidence), names, facts=subset)
        with_negatives = tables.facts("test", column, negatives=True)
        if len(with_negatives) > len(predictions.confidences):
            groups += label_groups(
                predictor, _predictions(with_negatives, of_scores, None), errors, facts="with negatives"
            )
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


def label_groups(
    predictor: str,
    data: Predictions,
    names: list[MetricName],
    by: tuple[str, ...] = (),
    intervals: Intervals | None = None,
    **key: Any,
) -> Iterator[Group]:
    """Yield the group of a predictor's triples and, with ``by``, one for each relation; ``key`` is in every key."""
    values = {name: _value_of(name, data) for name in names}
    if intervals is not None and isinstance(data, LabelPredictions):
        for name, found in values.items():
            if found.value is not None:
                values[name] = found.with_interval(label_interval(name, data, found.value, intervals))
    yield Group(key, values, predictor)
    if by:
        single = [name for name in names if name.average is None]
        for relation in np.unique(data.relations).tolist():
            yield from label_groups(
                predictor, data.of_relation(relation), single, (), intervals, relation=relation, **key
            )


def _value_of(name: MetricName, data: Predictions) -> Value:
    """Compute a metric, or its mean over the relations in which it is defined."""
    if name.average != "relation":
        return Value.computed(name, partial(name, data))
    relations = np.unique(data.relations).tolist()
    values = [Value.computed(name, partial(name, data.of_relation(relation))).value for relation in relations]
    known = [value for value in values if value is not None]
    mean = Value(name, float(np.mean(known))) if known else Value(name, reason="it is undefined in every relation")
    return mean._replace(left_out=len(values) - len(known))


def _predictions(
    facts: ScoredLabels, mapping: ConfidenceMapping | Undefined, ranks: RankedFacts | None
) -> ConfidencePredictions:
    confidences: Float64Array | Undefined = mapping if isinstance(mapping, Undefined) else mapping(facts.scores)
    return ConfidencePredictions(facts.labels, confidences, np.asarray(facts.relations), ranks)


def _thresholds(valid: ScoredLabels) -> dict[str, Any]:
    thresholds = or_reason(partial(Thresholds.fit, valid))
    if isinstance(thresholds, Undefined):
        return {}
    by_relation = {str(relation): value for relation, value in thresholds.by_relation.items()}
    return {"thresholds": {"global": thresholds.global_threshold, "by_relation": by_relation}}


def _curves(predictions: LabelPredictions) -> dict[str, dict[str, list[Any]]]:
    curves = {}
    for curve in (roc, precision_recall, reliability):
        columns = or_reason(partial(curve, predictions))
        if isinstance(columns, Undefined):
            continue
        # JSON has no infinity: an infinite threshold becomes None.
        curves[curve.__name__] = {
            name: [x if np.isfinite(x) else None for x in row.tolist()] for name, row in columns.items()
        }
    return curves


def _content(group: Group) -> dict[str, Any]:
    metrics = {str(name): value for name, value in group.values.items()}
    further: dict[str, Any] = {"intervals": {str(name): ends.to_dict() for name, ends in group.intervals.items()}}
    further |= {"no_interval": group.no_interval, "undefined": group.undefined, "relations_left_out": group.left_out}
    return {"metrics": metrics, **{key: value for key, value in further.items() if value}}


def label_table(summaries: Mapping[str, LabelSummary]) -> Table:
    """Lay out a row per model, baseline and group, and a column per metric.

    The baselines are the same for every model, and have their rows once, at the end.
    """
    first = next(iter(summaries.values()))
    lines = [(model, group) for model, of in summaries.items() for group in of.groups if group.predictor == MODEL]
    lines += [(group.predictor, group) for group in first.groups if group.predictor != MODEL]
    names = list(first.groups[0].records)
    keys = list(dict.fromkeys(key for _, group in lines for key in group.key))
    rows = [
        [
            model,
            *(str(group.key.get(key, "all")) for key in keys),
            *(group.records[metric].figure if metric in group.records else "" for metric in names),
        ]
        for model, group in lines
    ]
    return Table(["", *keys, *map(str, names)], rows, 1 + len(keys), item="group" if keys else "model")


class Labelled(Protocol):
    """The members that tables of labels and of confidences share."""

    @property
    def provenance(self) -> LabelProvenance: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the table."""


@runtime_checkable
class LabelColumns(Labelled, Protocol):
    """The triples of validation and test, with a column of scores per predictor."""

    @property
    def baselines(self) -> Mapping[str, float | None]:
        """The baselines, each with its threshold if that is a constant."""

    def scored(self, split: str, scores: str = "score") -> ScoredLabels:
        """Return the triples of a split with the scores of the model or of a baseline."""


@runtime_checkable
class ConfidenceColumns(Labelled, Protocol):
    """Scored facts, and their ranks."""

    @property
    def predictors(self) -> Sequence[str]:
        """The columns of scores: the model's ``score`` and the baselines."""

    def facts(self, split: str, scores: str = "score", *, negatives: bool = False) -> ScoredLabels:
        """Return the facts of a split with the scores of the model or of a baseline, and its negatives on request."""

    def ranked(self, scores: str = "score", *, ties: Ties = "realistic", seed: int = 0) -> RankedFacts | None:
        """Return the ranks of the test facts by the model or a baseline, under a tie policy; ``None`` without ranks."""
