"""Intervals over seeds: several training runs of one model, of which both the runs and the triples are drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.errors import MetricError
from kgeval.metrics.intervals.interval import (
    Interval,
    Intervals,
    NoInterval,
    Unit,
    clipped_to,
    read_intervals,
    refuse_constant,
    refuse_few,
)
from kgeval.metrics.intervals.mean_terms import mean_terms, units_of
from kgeval.metrics.intervals.selection_intervals import drawn_functions, drawn_values, t_quantile, times_drawn
from kgeval.metrics.metric import Metric
from kgeval.metrics.names import MetricName, parse
from kgeval.metrics.rank_summary import rank_summary
from kgeval.metrics.selection import (
    DEFAULT_OPTIONS,
    MetricOptions,
    RankColumns,
    RowSelection,
    TableView,
    refuse_other_tables,
)
from kgeval.provenance import ALIKE


@dataclass(frozen=True)
class OverSeeds:
    """A metric of several runs of one model."""

    values: tuple[float, ...]
    """of each run"""
    interval: Interval
    """of their mean, had other seeds and other units been drawn"""

    @property
    def value(self) -> float:
        """The mean over the runs."""
        return float(np.mean(self.values))


def interval_over_seeds(
    tables: Sequence[RankColumns],
    metric: str | Metric,
    *,
    intervals: Intervals | Unit = "triple",
    options: MetricOptions = DEFAULT_OPTIONS,
) -> OverSeeds:
    """Compute the mean of a metric over runs of one model, with its interval: seeds × triples.

    The pigeonhole bootstrap (Owen, 2007) draws runs and units independently; a row counts as often as its run times as
    often as its unit. To its variance V comes v/R, with v the variance over the R runs divided by R, which drawing from
    few runs loses (Davison and Hinkley, 1997, section 2.3). The interval is that of Student, its degrees of freedom
    those of Satterthwaite (1946): (v + u)²/(v²/(R − 1) + u²/(C − 1)), u being what the C units leave of the variance.

    Parameters
    ----------
    tables
        the ranks of each run, of the same rows
    metric
        its name; without a side, that of both
    intervals
        what is drawn again beside the seeds, or settings
    options
        ties and the conventions of adjusted and stratified metrics

    Raises
    ------
    MetricError
        if there are fewer than two runs, if they do not rank the same rows by the same rules, if the metric is unknown
        or undefined, or if it has no interval

    Examples
    --------
    >>> from kgeval import evaluate
    >>> tables = [evaluate(lambda h, r, t, s=s: (h * s + t * 7 + r) % 11, "nations") for s in (29, 31, 37)]
    >>> found = interval_over_seeds(tables, "mrr")
    >>> print(f"{found.value:.3f}", found.interval, found.interval.unit)
    0.376 0.346–0.407 seed × triple
    """
    settings = read_intervals(intervals) or Intervals()
    views = [TableView(table, options) for table in _alike(tables)]
    name = parse(metric)
    name = name.of_part(views[0].pooled)
    values = [rank_summary(view.table, [metric], by=(), options=options)[metric] for view in views]
    try:
        return OverSeeds(tuple(values), _pigeonhole(name, views, values, settings))
    except NoInterval as reason:
        raise MetricError(f"{name} has no interval: {reason}.") from reason


def _pigeonhole(
    name: MetricName, views: Sequence[TableView], values: Sequence[float], intervals: Intervals
) -> Interval:
    selections = [RowSelection(view, view.rows_of(name.side)) for view in views]
    units = units_of(selections[0], intervals.unit, needs="lists" if name.metric.needs == "lists" else "ranks")
    refuse_few(units.count, units.kind)
    runs = len(views)
    chosen = [times_drawn(runs, seed=intervals.seed, draw=draw, stream=1) for draw in range(intervals.draws)]
    drawn = (np.array(chosen) * _drawn(name, selections, intervals)).sum(axis=1) / runs
    of_seeds = float(np.var(values, ddof=1)) / runs
    variance = float(drawn.var(ddof=1)) + of_seeds / runs
    value, error = float(np.mean(values)), float(np.sqrt(variance))
    refuse_constant(error, value)
    of_units = max(variance - of_seeds, 0.0)
    degrees = (of_seeds + of_units) ** 2 / (of_seeds**2 / (runs - 1) + of_units**2 / (units.count - 1))
    half = t_quantile(degrees, intervals.level) * error
    low, high, clipped = clipped_to(name.metric, value, (value - half, value + half))
    what, method = f"seed × {units.kind}", f"pigeonhole bootstrap, Student, {intervals.draws} draws"
    return Interval(low, high, intervals.level, what, units.count, method, error, clipped)


def _drawn(name: MetricName, selections: Sequence[RowSelection], intervals: Intervals) -> Float64Array:
    """Compute the metric of each run on the same draws of units; float64[draw, run]."""
    found = [mean_terms(name, selection, unit=intervals.unit) for selection in selections]
    if terms := [one for one in found if one is not None]:
        return drawn_functions(terms, intervals=intervals)
    units = [units_of(one, intervals.unit, needs=name.metric.needs) for one in selections]
    each = [drawn_values(name, *one, intervals=intervals) for one in zip(selections, units, strict=True)]
    return np.stack(each, axis=1)


def _alike(tables: Sequence[RankColumns]) -> Sequence[RankColumns]:
    if len(tables) < 2:
        raise MetricError(f"an interval over seeds needs the ranks of several runs, found {len(tables)}.")
    for table in tables:
        refuse_other_tables(table)
    first, *others = tables
    for number, other in enumerate(others, 2):
        for field in ALIKE:
            one, two = (getattr(table.provenance, field) for table in (first, other))
            if one != two:
                raise MetricError(f"these are no runs of one model: {field} {one} in run 1, {two} in run {number}.")
        if not np.array_equal(_rows(first), _rows(other)):
            raise MetricError(f"these are no runs of one model: run {number} does not rank the rows of run 1.")
    return tables


def _rows(table: RankColumns) -> IntArray:
    """Return triple, side and ids of all rows, in one order; int64[column, row]."""
    columns = np.stack([np.asarray(table.column("triple")), *TableView(table).ids])
    return columns[:, np.lexsort(columns)]
