"""Comparisons of classifications: the metrics of several models on the same labelled triples, and their differences.

``compare`` calls ``compare_labels`` for the tables of ``kgeval.classify``. A difference is tested by Student's t test
of what each triple, or relation, adds to it (``label_intervals.py``; for ``roc_auc`` by DeLong et al., 1988).
Each model is also tested against the baselines of the tables. These p-values are adjusted by themselves: more baselines
change no p-value of two models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from kgeval.analysis.comparison.adjustment import with_adjusted_p
from kgeval.analysis.comparison.comparison import Comparison
from kgeval.analysis.comparison.paired_difference import (
    DifferenceOptions,
    PairedDifference,
    detectable_difference,
    on_dataset,
)
from kgeval.base.arrays import IntArray
from kgeval.base.errors import MetricError, refuse_unknown
from kgeval.data.columns import TRIPLE
from kgeval.metrics.intervals.interval import NoInterval, is_rounding, refuse_other_units
from kgeval.metrics.intervals.selection_intervals import student_interval, student_p
from kgeval.metrics.kinds import CLASSIFICATION, Calibration
from kgeval.metrics.labels.fitted import LabelPredictions
from kgeval.metrics.labels.label_intervals import Scatter, added_by_units
from kgeval.metrics.labels.label_summary import LabelSummary, label_summary
from kgeval.metrics.names import MetricName, parse_all
from kgeval.metrics.summary import MODEL, Group
from kgeval.ranking.tasks.label_table import LabelTable

METRICS = ("roc_auc", "average_precision", "accuracy", "f1", "brier", "log_loss")
"""the metrics that are compared by default; the first decides"""


def compare_labels(
    tables: Mapping[str, LabelTable],
    metrics: Any,
    options: DifferenceOptions,
    *,
    by: tuple[str, ...] = (),
    calibration: Calibration = "platt",
) -> Comparison:
    """Compare models that classified the same test triples; see :func:`kgeval.compare`."""
    refuse_other_units(options.unit)
    names, orders = parse_all(metrics, CLASSIFICATION.name), _orders(tables)
    whole = {model: label_summary(table, names, by=by, calibration=calibration) for model, table in tables.items()}
    first, summary = next(iter(whole.items()))
    summaries = {model: _part(of_model, MODEL) for model, of_model in whole.items()}
    data = {model: of_model.predictions[MODEL][orders[model]] for model, of_model in whole.items()}
    baselines = frozenset(tables[first].baselines) - {*tables}
    for baseline in sorted(baselines):
        about = replace(summary.provenance, model=baseline)
        summaries[baseline] = replace(_part(summary, baseline), provenance=about, table_notes=())
        data[baseline] = summary.predictions[baseline][orders[first]]
    if options.reference is not None:
        refuse_unknown("reference: no model is called", options.reference, data, MetricError)
    pairs = [pair for pair in options.pairs(data) if not {*pair} <= baselines]
    differences: list[PairedDifference] = []
    for groups in zip(*(of_model.groups for of_model in summaries.values()), strict=True):
        parts = {model: _ModelPart(group, data[model], options) for model, group in zip(summaries, groups, strict=True)}
        for one, other in pairs:
            of_quality = [name for name in parts[one].group.records if name.metric.increasing is not None]
            differences += [_difference((one, other), name, parts, options) for name in of_quality]
    dataset = summary.provenance.dataset
    tested = on_dataset(with_adjusted_p(differences, baselines), dataset, options.margin)
    return Comparison({dataset: summaries}, {}, tuple(tested), options, None, baselines)


def _part(summary: LabelSummary, predictor: str) -> LabelSummary:
    """Take the groups of one predictor, named as if it were the model: all rows or, if grouped, the groups."""
    parts = [group for group in summary.groups if group.predictor == predictor and bool(group.key) == bool(summary.by)]
    return replace(summary, groups=tuple(replace(group, predictor=MODEL) for group in parts))


def _orders(tables: Mapping[str, LabelTable]) -> dict[str, IntArray]:
    """Find the order that sorts each table's test triples by label (int64[triple]); refuse different test triples."""
    columns = (*(f"{name}_label" for name in TRIPLE), "label")
    rows, orders = dict[str, Any](), dict[str, IntArray]()
    for model, table in tables.items():
        test = table.where(table.column("split") == "test")
        values = [test.column(name).astype(str) for name in columns]
        orders[model] = np.lexsort(values)
        rows[model] = np.stack(values)[:, orders[model]]
    first, *others = rows
    if unlike := [model for model in others if not np.array_equal(rows[model], rows[first])]:
        counts = ", ".join(f"{rows[model].shape[1]:,} in {model}" for model in rows)
        what = f"triples: {', '.join(unlike)} classified other test triples or labels than {first} ({counts})"
        raise MetricError(f"these runs cannot be compared.\n{what}\nClassify the same: --test-negatives FILE.")
    return orders


class _ModelPart:
    """One model on a group of test triples: its values, and what each unit adds to them, computed once."""

    def __init__(self, group: Group, data: LabelPredictions, options: DifferenceOptions) -> None:
        self.group, self.data = group, data.of_relation(group.key["relation"]) if group.key else data
        self.added = cache(lambda name: added_by_units(name, self.data, options.unit))


def _difference(
    pair: tuple[str, str], name: MetricName, parts: Mapping[str, _ModelPart], options: DifferenceOptions
) -> PairedDifference:
    unit, level, (of_one, of_other) = options.unit, options.level, (parts[model] for model in pair)
    one, other = of_one.group.records[name], of_other.group.records[name]
    found = PairedDifference(*pair, name, len(of_one.data), 0, unit, of_one.group.key, level=level)
    if one.value is None or other.value is None:
        return replace(found, reason=one.reason or other.reason)
    difference = one.value - other.value
    found = replace(found, difference=difference)
    try:
        (added, strata), (added_by_other, _) = of_one.added(name), of_other.added(name)
        scatter = Scatter.of(added - added_by_other, strata, unit, "a test")
    except NoInterval as reason:
        return replace(found, reason=str(reason))
    found = replace(found, units=len(strata), degrees=scatter.degrees)
    if is_rounding(scatter.error, one.value):
        return replace(found, reason=f"every {unit} differs alike" if difference else f"no {unit} differs")
    about: Any = {"level": level, "unit": unit, "units": len(strata), "method": "linearised"}
    interval = student_interval(name.metric.of_differences, difference, scatter[:2], **about)
    detectable, p = detectable_difference(scatter.error, level=level), student_p(difference, *scatter[:2])
    return replace(found, interval=interval, detectable=detectable, p=p)
