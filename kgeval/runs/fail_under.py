"""Fail under: the least that metrics have to be for a command to succeed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kgeval.errors import ConfigError, MetricError, RunError
from kgeval.metrics.confidences.confidence_summary import CONFIDENCES
from kgeval.metrics.labels.label_summary import CLASSIFICATION
from kgeval.metrics.metric import Metric
from kgeval.metrics.summary import Summary
from kgeval.metrics.tables.names import Kind, parse, parse_all

Bounds = Mapping[str, float]
"""the least value of each metric, by any of its names"""


def refuse_bounds(bounds: Bounds, kind: Kind, metrics: Sequence[str] = ()) -> None:
    """Refuse bounds of metrics that are unknown, or better the lower they are, before anything is ranked.

    Parameters
    ----------
    bounds
        the least value of each metric
    kind
        what is computed: ``"ranks"``, or the kind of a task
    metrics
        those of the task, of which the others are not computed; by default the usual ones

    Raises
    ------
    ConfigError
        with the nearest name
    """
    try:
        for name in bounds:
            _refuse_falling(name, _metric(name, kind, metrics))
    except MetricError as error:
        raise ConfigError(f"--fail-under: {error}") from error


def _metric(name: str, kind: Kind, metrics: Sequence[str]) -> Metric:
    if kind == "ranks":
        return parse(name).metric
    wanted = parse(name, kind)
    computed = metrics or (CONFIDENCES if kind == "confidences" else CLASSIFICATION)
    if wanted not in parse_all(computed, kind):
        raise MetricError(f"{name} is not among the metrics of this task. Add it to them.")
    return wanted.metric


def _refuse_falling(name: str, metric: Metric) -> None:
    if metric.increasing is False:
        raise MetricError(f"{name} is better the lower it is, and a bound is the least that a metric may be.")


def refuse_shortfalls(summaries: Mapping[str, Summary], bounds: Bounds) -> None:
    """Fail if a metric of a model is below its bound, or undefined.

    Parameters
    ----------
    summaries
        by the models' names; the name of a single one is empty
    bounds
        the least value of each metric

    Raises
    ------
    RunError
        with every metric that fell short
    """
    short = [
        f"{name}: {said}" if name else said
        for name, summary in summaries.items()
        for metric, bound in bounds.items()
        for said in _shortfall(summary, metric, bound)
    ]
    if len(short) == 1:
        raise RunError(f"--fail-under: {short[0]}")
    if short:
        raise RunError("\n  ".join([f"--fail-under: {len(short)} metrics fell short", *short]))


def _shortfall(summary: Summary, metric: str, bound: float) -> Iterator[str]:
    try:
        value = summary[metric]
    except MetricError as error:
        yield str(error)
    else:
        if not value >= bound:
            yield f"{metric} is {value!r}, below {bound!r}."
