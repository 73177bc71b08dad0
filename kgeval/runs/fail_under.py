"""``--fail-under``: lower bounds on metrics, below which a command fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kgeval.errors import ConfigError, MetricError, RunError
from kgeval.metrics.confidences.confidence_summary import CONFIDENCES
from kgeval.metrics.labels.label_summary import CLASSIFICATION
from kgeval.metrics.metric import Metric
from kgeval.metrics.summary import Summary
from kgeval.metrics.tables.names import Kind, parse, parse_all

Bounds = Mapping[str, float]
"""the lower bound of each metric, by any of its names"""


def refuse_bounds(bounds: Bounds, kind: Kind, metrics: Sequence[str] = ()) -> None:
    """Refuse bounds on metrics that are unknown or better the lower they are, before anything is ranked.

    Parameters
    ----------
    bounds
        the lower bound of each metric
    kind
        ``"ranks"``, or the kind of a task
    metrics
        the metrics of the task; by default the default ones of its kind

    Raises
    ------
    ConfigError
        with the nearest name
    """
    try:
        for name in bounds:
            if _metric(name, kind, metrics).increasing is False:
                what = f"{name} is better the lower it is, and a bound is the least that a metric may be"
                raise ConfigError(f"--fail-under: {what}.")
    except MetricError as error:
        raise ConfigError(f"--fail-under: {error}") from error


def _metric(name: str, kind: Kind, metrics: Sequence[str]) -> Metric:
    if kind == "ranks":
        return parse(name).metric
    metric_name = parse(name, kind)
    computed = metrics or (CONFIDENCES if kind == "confidences" else CLASSIFICATION)
    if metric_name not in parse_all(computed, kind):
        raise MetricError(f"{name} is not among the metrics of this task. Add it to them.")
    return metric_name.metric


def refuse_shortfalls(summaries: Mapping[str, Summary], bounds: Bounds) -> None:
    """Fail if a metric of a model is below its bound, or undefined.

    Parameters
    ----------
    summaries
        by model; the name of a single model is empty
    bounds
        the lower bound of each metric

    Raises
    ------
    RunError
        with every metric that fell short
    """
    shortfalls = [
        f"{model}: {problem}" if model else problem
        for model, summary in summaries.items()
        for metric, bound in bounds.items()
        for problem in _shortfall(summary, metric, bound)
    ]
    if len(shortfalls) == 1:
        raise RunError(f"--fail-under: {shortfalls[0]}")
    if shortfalls:
        raise RunError("\n  ".join([f"--fail-under: {len(shortfalls)} metrics fell short", *shortfalls]))


def _shortfall(summary: Summary, metric: str, bound: float) -> Iterator[str]:
    try:
        value = summary[metric]
    except MetricError as error:
        yield str(error)
    else:
        if not value >= bound:
            yield f"{metric} is {value!r}, below {bound!r}."
