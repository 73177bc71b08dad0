"""Bootstrap over units: a metric computed anew on tables that are made of drawn units (Efron, 1979).

As many units are drawn, with replacement, as there are; a unit that is drawn twice has each of its rows twice. Draw d
of a seed is one stream of the Philox generator, so that the same table and seed give the same interval anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator, Philox

from kgeval.arrays import Float64Array, IntArray
from kgeval.metrics.intervals.interval import (
    Interval,
    Intervals,
    NoInterval,
    clipped_to,
    is_rounding,
    refuse_few,
)
from kgeval.metrics.intervals.mean_terms import MeanTerms
from kgeval.metrics.intervals.units import Units
from kgeval.metrics.lists.ranked_lists import RankedLists
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.metrics.selection import RowSelection
from kgeval.progress import long_loop


def times_drawn(count: int, *, seed: int, draw: int, stream: int = 0) -> IntArray:
    """Draw as many units as there are, with replacement: how often each was drawn; int64[unit]."""
    generator = Generator(Philox(key=np.array([seed, draw], np.uint64), counter=[0, 0, 0, stream]))
    return np.bincount(generator.integers(0, count, count), minlength=count)


def bootstrapped(
    name: MetricName, selection: RowSelection, units: Units, *, value: float, intervals: Intervals
) -> Interval:
    refuse_few(units.count, units.kind)
    values = drawn_values(name, selection, units, intervals=intervals)
    if is_rounding(error := float(values.std(ddof=1)), value):
        raise NoInterval("it is the same in all draws, so they do not show how it varies")
    low, high, clipped = clipped_to(name.metric, value, percentiles(values, intervals.level))
    method = f"bootstrap, percentile, {intervals.draws} draws"
    return Interval(low, high, intervals.level, units.kind, units.count, method, error, clipped)


def percentiles(values: Float64Array, level: float) -> tuple[float, float]:
    """Return the ends between which a share of some values lies, as many below as above."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def drawn_values(name: MetricName, selection: RowSelection, units: Units, *, intervals: Intervals) -> Float64Array:
    """Compute a metric of the rows of each draw; float64[draw]."""
    data, ids = _in_one_order(name, selection, units)
    places = np.arange(len(ids))
    values = np.empty(intervals.draws)
    with long_loop(f"bootstrap of {name}", intervals.draws, unit="draws") as report:
        for draw in range(intervals.draws):
            times = times_drawn(units.count, seed=intervals.seed, draw=draw)
            try:
                values[draw] = name(data.at(np.repeat(places, times[ids])))
            except Undefined as reason:
                raise NoInterval(f"it is undefined in a draw: {reason}") from reason
            report(1)
    return values


def drawn_functions(several: Sequence[MeanTerms], *, intervals: Intervals) -> Float64Array:
    """Compute functions of means, which have the same units, of the units of each draw; float64[draw, function].

    The rows of a unit count together: a draw weighs their sums.
    """
    sums = np.concatenate([np.vstack([terms.unit_sums, terms.unit_shares]) for terms in several]).T
    count = several[0].units.count
    totals = np.empty((intervals.draws, sums.shape[1]))
    with long_loop("bootstrap", intervals.draws, unit="draws") as report:
        for draw in range(intervals.draws):
            totals[draw] = times_drawn(count, seed=intervals.seed, draw=draw) @ sums
            report(1)
    of_each = totals.reshape(intervals.draws, len(several), -1)
    means = of_each[..., :-1] / of_each[..., -1:]
    each = [terms.combine(*means[:, place].T) for place, terms in enumerate(several)]
    return np.asarray(np.stack(each, axis=1), np.float64)


def _in_one_order(name: MetricName, selection: RowSelection, units: Units) -> tuple[Ranks | RankedLists, IntArray]:
    """Return the ranks or lists, with their units, in an order that is not that of the table's rows."""
    if name.metric.needs == "lists":
        return selection.lists(name.average), units.ids
    order = np.lexsort([*(column[selection.rows] for column in selection.view.ids), units.ids])
    return selection.ranks(name.ties, name.average).at(order), units.ids[order]
