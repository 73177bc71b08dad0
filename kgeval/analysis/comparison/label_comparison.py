"""Comparisons of classifications: the metrics of several models on the same labelled triples, and their differences.

``compare`` calls ``compare_labels`` for the tables of ``kgeval.classify``. A difference has Student's t test of what
each triple, or relation, adds to it (``label_intervals.py``; of ``roc_auc`` that of DeLong et al., 1988).
The baselines of the tables stand beside the models. Each model is tested against them, in a family of its own: so more
baselines change no p-value of two models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kgeval.analysis.comparison.comparison import Comparison
from kgeval.analysis.comparison.paired_difference import (
    DifferenceOptions,
    PairedDifference,
    detectable_difference,
    on_dataset,
    with_adjusted_p,
)
from kgeval.base.arrays import IntArray
from kgeval.base.errors import MetricError, refuse_unknown
from kgeval.data.columns import TRIPLE
from kgeval.metrics.intervals.interval import Interval, NoInterval, is_rounding, refuse_other_units
from kgeval.metrics.kinds import CLASSIFICATION, Calibration
from kgeval.metrics.labels.fitted import LabelPredictions
from kgeval.metrics.labels.label_intervals import Scatter, added_by_units
from kgeval.metrics.labels.label_summary import LabelSummary, label_predictions, label_summary, value_of
from kgeval.metrics.names import MetricName, parse_all
from kgeval.metrics.summary import MODEL
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
    predicted = {model: label_predictions(table, calibration) for model, table in tables.items()}
    first, summary = next(iter(whole.items()))
    summaries = {model: _part(of_model, MODEL) for model, of_model in whole.items()}
    data = {model: of_model[MODEL][orders[model]] for model, of_model in predicted.items()}
    baselines = frozenset(tables[first].baselines) - {*tables}
    for baseline in sorted(baselines):
        about = replace(summary.provenance, model=baseline)
        summaries[baseline] = replace(_part(summary, baseline), provenance=about, table_notes=())
        data[baseline] = predicted[first][baseline][orders[first]]
    if options.reference is not None:
        refuse_unknown("reference: no model is called", options.reference, data, MetricError)
    relations = np.unique(data[first].relations).tolist() if by else []
    keys: list[dict[str, Any]] = [{"relation": relation} for relation in relations] or [{}]
    differences = [
        _difference(pair, name, data, key, options)
        for key in keys
        for pair in options.pairs(data)
        for name in names
        if not ({*pair} <= baselines or (key and name.average)) and name.metric.increasing is not None
    ]
    dataset = summary.provenance.dataset
    pairs = tuple(on_dataset(with_adjusted_p(differences, baselines), dataset, options.margin))
    return Comparison({dataset: summaries}, {}, pairs, options, None, baselines)


def _part(summary: LabelSummary, predictor: str) -> LabelSummary:
    parts = [group for group in summary.groups if group.predictor == predictor and bool(group.key) == bool(summary.by)]
    groups = (replace(group, predictor=MODEL) for group in parts)
    return replace(summary, groups=tuple(groups))


def _orders(tables: Mapping[str, LabelTable]) -> dict[str, IntArray]:
    """Sort the test triples of each table by their labels; refuse tables of different ones."""
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


def _difference(
    pair: tuple[str, str],
    name: MetricName,
    predictions: Mapping[str, LabelPredictions],
    key: Mapping[str, Any],
    options: DifferenceOptions,
) -> PairedDifference:
    unit, level = options.unit, options.level
    data = [predictions[model].of_relation(key["relation"]) if key else predictions[model] for model in pair]
    found = PairedDifference(*pair, name, len(data[0]), 0, unit, key, level=level)
    one, other = [value_of(name, of_model) for of_model in data]
    if one.value is None or other.value is None:
        return replace(found, reason=one.reason or other.reason)
    difference = one.value - other.value
    found = replace(found, difference=difference)
    try:
        (of_one, strata), (of_other, _) = (added_by_units(name, of_model, unit) for of_model in data)
        scatter = Scatter.of(of_one - of_other, strata, unit, "a test")
    except NoInterval as reason:
        return replace(found, reason=str(reason))
    found = replace(found, units=len(strata), degrees=scatter.degrees)
    if is_rounding(scatter.error, one.value):
        return replace(found, reason=f"every {unit} differs alike" if difference else f"no {unit} differs")
    ends = difference - scatter.reach(level), difference + scatter.reach(level)
    interval = Interval(*ends, level, unit, len(strata), "linearised", scatter.error)
    detectable = detectable_difference(scatter.error, level=level)
    return replace(found, interval=interval, detectable=detectable, p=scatter.p_value(difference))
