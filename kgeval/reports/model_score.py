"""The score of a model by one metric with its interval: of its one run, or the mean over its seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.errors import MetricError
from kgeval.metrics.intervals.interval import Interval, NoInterval, Unit
from kgeval.metrics.intervals.over_seeds import interval_over_seeds
from kgeval.metrics.metric_options import MetricOptions
from kgeval.metrics.names import MetricName
from kgeval.metrics.ranks.ties import Ties
from kgeval.metrics.summarize import summarize
from kgeval.metrics.summary import Group
from kgeval.reports.reading import EvaluatedModel


@dataclass(frozen=True)
class ModelScore:
    """A value, NaN where it is undefined, and its interval, NaN where there is none."""

    value: float
    low: float = np.nan
    high: float = np.nan
    decimals: int = 4
    """that the interval justifies"""
    reason: str = ""
    """why it is undefined"""
    without: str = ""
    """why there is no interval"""
    seeds: tuple[float, ...] = ()


def score_of_run(group: Group, metric: MetricName) -> ModelScore:
    """Take a score from the summary of a run, where it is first for all sides together."""
    name = next(name for name in group.values if name.base == metric.base)
    value = group.values[name]
    if value is None:
        return ModelScore(np.nan, reason=group.undefined.get(str(name), ""))
    return _with_interval(value, group.intervals.get(name), without=group.no_interval.get(str(name), ""))


def score_over_seeds(model: EvaluatedModel, metric: MetricName, *, ties: Ties, unit: Unit) -> ModelScore:
    """Average a metric over the seeds of a model; its interval is of other seeds and other units."""
    tables = [run.table for run in model.seeds]
    groups = [summarize(table, metric.base, ties=ties).groups[0] for table in tables]
    scores = [score_of_run(group, metric) for group in groups]
    seeds = tuple(score.value for score in scores)
    if undefined := next((score for score in scores if score.reason), None):
        return undefined
    value = float(np.mean(seeds))
    try:
        found = interval_over_seeds(tables, metric.base, intervals=unit, options=MetricOptions(ties))
    except MetricError as error:
        if not isinstance(error.__cause__, NoInterval):
            raise
        return ModelScore(value, without=str(error.__cause__), seeds=seeds)
    return _with_interval(value, found.interval, seeds=seeds)


def _with_interval(value: float, interval: Interval | None, **more: Any) -> ModelScore:
    if interval is None:
        return ModelScore(value, **more)
    return ModelScore(value, interval.low, interval.high, interval.decimals, **more)
