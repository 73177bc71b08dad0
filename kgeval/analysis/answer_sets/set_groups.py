"""Coverage and sizes of answer sets, group by group, with the intervals of both means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.metrics.intervals.interval import Interval, Intervals, NoInterval, attempt
from kgeval.metrics.intervals.linearised import unit_scatter
from kgeval.metrics.intervals.mean_terms import MeanTerms, limits_of
from kgeval.metrics.intervals.units import Units
from kgeval.metrics.metric import Metric
from kgeval.metrics.tables.groups import group_rows
from kgeval.ranking.rank_table import RankTable

COVERAGE = Metric(
    "coverage", "coverage", "mean 1[answer in set]", "—", lowest=0, highest=1, increasing=None, compute=lambda x, _: x
)
SIZE = Metric("size", "set size", "mean |set|", "—", lowest=0, highest=np.inf, increasing=False, compute=lambda x, _: x)


@dataclass(frozen=True)
class SetGroup:
    """The sets of some rows."""

    key: dict[str, Any]
    """the values that these rows have in common, by column; empty for all rows"""
    rows: int
    coverage: float
    mean_size: float
    median_size: float
    coverage_interval: Interval | None
    """where the coverage would fall, had other test triples been drawn; None where that cannot be told"""
    size_interval: Interval | None
    """the same of the mean size"""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        intervals = {
            name: None if interval is None else interval.to_dict()
            for name, interval in (
                ("coverage_interval", self.coverage_interval),
                ("size_interval", self.size_interval),
            )
        }
        numbers = {name: getattr(self, name) for name in ("rows", "coverage", "mean_size", "median_size")}
        return {**numbers, **intervals}


def describe_sets(
    table: RankTable, by: tuple[str, ...], covered: BoolArray, sizes: IntArray, *, level: float
) -> list[SetGroup]:
    """Describe the sets of each group of rows; without columns to group by, of all."""
    if not by:
        return [_describe(table, {}, np.arange(len(table)), covered, sizes, level)]
    grouping = group_rows(table, by)
    return [
        _describe(table, key, grouping.of_group(number), covered, sizes, level)
        for number, key in enumerate(grouping.keys)
    ]


def _describe(
    table: RankTable, key: dict[str, Any], rows: IntArray, covered: BoolArray, sizes: IntArray, level: float
) -> SetGroup:
    units = Units.numbered("triple", table.column("triple")[rows])
    means = [
        _with_interval(metric, values[rows].astype(np.float64), units, level)
        for metric, values in ((COVERAGE, covered), (SIZE, sizes))
    ]
    (coverage, of_coverage), (size, of_size) = means
    return SetGroup(key, len(rows), coverage, size, float(np.median(sizes[rows])), of_coverage, of_size)


def _with_interval(metric: Metric, values: Float64Array, units: Units, level: float) -> tuple[float, Interval | None]:
    """Compute the mean of a value of the rows (float64[row]), and its interval over triples with both sides."""
    terms = MeanTerms(values[None], np.ones(len(values)), lambda mean: mean, units, limits_of(metric))
    scatter = unit_scatter(terms, np.zeros(units.count, np.int64))
    interval = attempt(partial(scatter.interval, metric, terms.value, Intervals(level=level)))
    return terms.value, None if isinstance(interval, NoInterval) else interval
