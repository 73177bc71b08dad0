"""Summaries of labelled triples: metrics of the model, and beside it of every baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from kgeval.errors import MetricError, did_you_mean
from kgeval.metrics.labels.calibration import Calibration
from kgeval.metrics.labels.curves import precision_recall, reliability, roc
from kgeval.metrics.labels.label_names import LabelMetricName, parse_label_metrics
from kgeval.metrics.labels.label_predictions import LabelPredictions, predict_labels
from kgeval.metrics.labels.scored_labels import ScoredLabels, ScoredSplits
from kgeval.metrics.labels.thresholds import Thresholds
from kgeval.metrics.metric import Undefined
from kgeval.metrics.tables.summary import number
from kgeval.provenance import LabelProvenance

if TYPE_CHECKING:
    import pandas as pd

MODEL = "model"
"""the name of the model among the baselines"""

CLASSIFICATION = (
    *("accuracy", "precision", "recall", "f1", "macro.accuracy", "macro.f1"),
    *("roc_auc", "average_precision", "brier", "log_loss", "ece"),
)
"""the metrics of a classification that names none"""


@runtime_checkable
class LabelColumns(Protocol):
    """What a summary reads: the labelled triples of validation and test, with a column of scores for each predictor."""

    @property
    def baselines(self) -> Mapping[str, float | None]:
        """The baselines that were scored too, each with its threshold if it has one."""
        ...

    @property
    def provenance(self) -> LabelProvenance:
        """What the labelled triples are of."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the results should know."""
        ...

    def scored(self, split: str, scores: str = "score") -> ScoredLabels:
        """Return the triples of a split with the scores of the model or of a baseline."""
        ...


class Divisible(Protocol):
    """What a label metric reads: triples that can be divided by their relation."""

    @property
    def relation_names(self) -> list[Any]:
        """The relations of the triples."""
        ...

    def of_relation(self, relation: Any) -> Any:
        """Keep the triples of one relation."""
        ...


@dataclass(frozen=True)
class ResultRow:
    """The metrics of one predictor on some of the triples."""

    predictor: str
    """the model, or a baseline"""
    group: dict[str, Any]
    """what the triples have in common; empty for all of them"""
    values: dict[str, float | None] = field(default_factory=dict)
    """by metric; nothing where one is undefined"""
    undefined: dict[str, str] = field(default_factory=dict)
    """why, by metric"""
    left_out: dict[str, int] = field(default_factory=dict)
    """how many relations a macro average leaves out, where the metric is undefined"""


@dataclass(frozen=True)
class LabelSummary:
    """Metrics of labelled triples."""

    kind: str
    provenance: LabelProvenance
    """what the labelled triples are of"""
    counts: dict[str, int]
    """how many triples there were of which sort"""
    lines: tuple[ResultRow, ...]
    details: dict[str, Any] = field(default_factory=dict)
    """what the model's metrics rest on: calibration and thresholds, or the mapping of scores to confidences"""
    curves: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    """the model's curves, by name and column"""
    table_notes: tuple[str, ...] = ()
    """what a reader of the scores should know"""

    def __getitem__(self, name: str) -> float:
        """Look a metric of the model up, on all triples.

        Raises
        ------
        MetricError
            if it was not asked for, or is undefined
        """
        return self.of(MODEL, name)

    @property
    def of_model(self) -> list[ResultRow]:
        """The lines of the model alone."""
        return [line for line in self.lines if line.predictor == MODEL]

    def of(self, predictor: str, name: str, **group: Any) -> float:
        """Look a metric of the model or a baseline up, on all triples or on a group of them.

        Raises
        ------
        MetricError
            if there is no such predictor, group or metric in the summary, or if it is undefined
        """
        names = {line.predictor for line in self.lines}
        if predictor not in names:
            raise MetricError(f"the summary has no predictor {predictor!r}. {did_you_mean(str(predictor), names)}")
        for line in self.lines:
            if line.predictor == predictor and line.group == group:
                return _value(line, str(parse_label_metrics([name], confidences=self.kind == "confidences")[0]))
        raise MetricError(f"the summary has no group {group}.")

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: of the scores, why metrics are undefined, and what macro averages leave out.

        Of single relations nothing is said.
        """
        said = list(self.table_notes)
        for line in self.lines:
            if "relation" in line.group:
                continue
            who = ", ".join([line.predictor, *map(str, line.group.values())])
            said += [f"{who}: {metric} is undefined: {reason}." for metric, reason in line.undefined.items()]
            said += [
                f"{who}: {metric} leaves out {count} relations, where it is undefined."
                for metric, count in line.left_out.items()
            ]
        return tuple(said)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``metrics.json``: by predictor, the metrics of all triples, then those of groups."""
        whole = {line.predictor: _content(line) for line in self.lines if not line.group}
        groups = [
            {"predictor": line.predictor, "key": line.group, **_content(line)} for line in self.lines if line.group
        ]
        head = {
            "schema": 1,
            "kind": self.kind,
            "provenance": self.provenance.to_dict(),
            "split": "test",
            "triples": self.counts,
            "notes": list(self.notes),
        }
        metrics = {name: content.pop("metrics") for name, content in whole.items()}
        rest = {name: content for name, content in whole.items() if content}
        return {
            **head,
            "metrics": metrics,
            **({"remarks": rest} if rest else {}),
            **({"groups": groups} if groups else {}),
            **self.details,
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per predictor and group, one column per metric."""
        import pandas as pd

        return pd.DataFrame([{"predictor": line.predictor, **line.group, **line.values} for line in self.lines])

    def __str__(self) -> str:
        rows = [("", *self.lines[0].values)] if self.lines else []
        for line in self.lines:
            cells = (number(line.values[name]) if name in line.values else "" for name in rows[0][1:])
            rows.append((", ".join([line.predictor, *map(str, line.group.values())]), *cells))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = [
            row[0].ljust(widths[0])
            + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
            for row in rows
        ]
        return "\n".join([str(self.provenance), "", *table, *(f"Note: {note}" for note in self.notes)])


def summarize_labels(
    table: LabelColumns | Mapping[str, ScoredLabels],
    metrics: Sequence[str] = CLASSIFICATION,
    *,
    calibration: Calibration = "platt",
    by_relation: bool = False,
) -> LabelSummary:
    """Compute metrics of triple classification, of the model and of the baselines.

    Parameters
    ----------
    table
        the labelled triples, a table that ``classify`` made or read; or your own, ``{"valid": ScoredLabels(…), "test":
        ScoredLabels(…)}``, which have no baselines
    metrics
        names ``[macro.]name``: without a prefix over all triples, with it the mean over the relations in which the
        metric is defined
    calibration
        how the model's scores become probabilities; those of baselines are calibrated in the same way
    by_relation
        whether to add the metrics of each relation

    Raises
    ------
    MetricError
        if a name is unknown, or if there are no labelled triples

    Examples
    --------
    >>> valid = ScoredLabels([0.1, 0.4, 0.5, 0.9], [0, 0, 1, 1], ["likes"] * 4)
    >>> test = ScoredLabels([0.2, 0.6, 0.7, 0.3], [0, 1, 1, 1], ["likes"] * 4)
    >>> summary = summarize_labels({"valid": valid, "test": test}, ["accuracy", "roc_auc"])
    >>> summary["accuracy"], summary["roc_auc"]
    (0.75, 1.0)
    """
    table = ScoredSplits(table) if isinstance(table, Mapping) else table
    if not isinstance(table, LabelColumns):
        raise MetricError(
            "expected the table that kgeval.classify makes, or ScoredLabels of 'valid' and of 'test', found "
            f"{type(table).__name__}."
        )
    names = parse_label_metrics(metrics, confidences=False)
    valid, test = table.scored("valid"), table.scored("test")
    judged = {MODEL: predict_labels(valid, test, calibration=calibration)}
    for baseline, threshold in table.baselines.items():
        own = (table.scored("valid", baseline), table.scored("test", baseline))
        judged[baseline] = predict_labels(*own, calibration=calibration, threshold=threshold)
    lines = tuple(
        line for predictor, data in judged.items() for line in lines_of(predictor, data, names, by_relation=by_relation)
    )
    true = int(test.is_true.sum())
    counts = {"judged": len(test), "true": true, "false": len(test) - true, "validation": len(valid)}
    details = {"calibration": calibration, **_details(valid)}
    return LabelSummary(
        "classification", table.provenance, counts, lines, details, _curves(judged[MODEL]), tuple(table.notes)
    )


def lines_of(
    predictor: str, data: Divisible, names: list[LabelMetricName], *, by_relation: bool, **group: Any
) -> Iterator[ResultRow]:
    """Compute the metrics of one predictor: of all triples, and on request of each relation."""
    line = ResultRow(predictor, group)
    for name in names:
        _add(line, name, data)
    yield line
    if by_relation:
        single = [name for name in names if not name.macro]
        for relation in data.relation_names:
            part = data.of_relation(relation)
            yield from lines_of(predictor, part, single, by_relation=False, relation=relation, **group)


def _add(line: ResultRow, name: LabelMetricName, data: Divisible) -> None:
    try:
        line.values[str(name)] = _macro(line, name, data) if name.macro else name(data)
    except Undefined as reason:
        line.values[str(name)] = None
        line.undefined[str(name)] = str(reason)


def _macro(line: ResultRow, name: LabelMetricName, data: Divisible) -> float:
    values = []
    for relation in data.relation_names:
        try:
            values.append(name(data.of_relation(relation)))
        except Undefined:
            line.left_out[str(name)] = line.left_out.get(str(name), 0) + 1
    if not values:
        raise Undefined("it is undefined in every relation")
    return float(np.mean(values))


def _details(valid: ScoredLabels) -> dict[str, Any]:
    try:
        thresholds = Thresholds.fit(valid)
    except Undefined:
        return {}
    by_relation = {str(relation): value for relation, value in thresholds.by_relation.items()}
    return {"thresholds": {"everywhere": thresholds.global_threshold, "by_relation": by_relation}}


def _curves(judged: LabelPredictions) -> dict[str, dict[str, list[Any]]]:
    curves = {}
    for curve in (roc, precision_recall, reliability):
        try:
            curves[curve.__name__] = _columns(curve(judged))
        except Undefined:
            continue
    return curves


def _columns(curve: NamedTuple) -> dict[str, list[Any]]:
    """Make plain lists of a curve; its infinite threshold, which is no JSON, becomes none."""

    def plain(values: npt.NDArray[Any]) -> list[Any]:
        return [value if np.isfinite(value) else None for value in values.tolist()]

    return {name: plain(values) for name, values in curve._asdict().items()}


def _value(line: ResultRow, name: str) -> float:
    if name not in line.values:
        raise MetricError(f"the summary does not hold {name!r}. {did_you_mean(name, line.values)}")
    value = line.values[name]
    if value is None:
        raise MetricError(f"{name} is undefined: {line.undefined[name]}.")
    return value


def _content(line: ResultRow) -> dict[str, Any]:
    content: dict[str, Any] = {"metrics": line.values}
    if line.undefined:
        content["undefined"] = line.undefined
    if line.left_out:
        content["relations_left_out"] = line.left_out
    return content
