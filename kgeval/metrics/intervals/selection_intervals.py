"""The interval of a metric of some rows: linearised for functions of means, by the bootstrap for all else.

``rank_summary`` makes a :class:`SelectionIntervals` of some rows and asks it for the interval of each metric. The
interval is one of these:

* Linearised: Student's interval around f(M_1, M_2, …). Its variance is the variance of the gradient of f times the
  means (delta method; cluster-robust: Binder, 1983). With s_cj = Σ w x_j and w_c = Σ w over the rows of unit c, M_j =
  Σ_c s_cj / Σ_c w_c, and d_c = Σ_j ∂f/∂M_j (s_cj − M_j w_c) / Σ_c w_c is what unit c of C adds to f. Then V = C/(C − 1)
  Σ_c d_c², and the interval is f ± t √V with C − 1 degrees of freedom.
* Where a few units have most of the weight: the interval of random halves (``random_halves.py``). Where few units carry
  the mean: the interval of a bounded mean (``bounded_means.py``). For a difference that is at an end of its range in
  all units: the interval of Wilson (1927).
* Bootstrap: the metric is computed anew on tables that are made of drawn units (Efron, 1979). As many units are drawn,
  with replacement, as there are; a unit that is drawn twice has each of its rows twice. Draw d of a seed is one stream
  of the Philox generator, so that the same table and seed give the same interval anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator, Philox

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.progress import long_loop
from kgeval.metrics.intervals.bounded_means import BoundedMeans
from kgeval.metrics.intervals.interval import (
    BOUNDED,
    PLURAL,
    ZERO,
    Interval,
    Intervals,
    NoInterval,
    Unit,
    clipped_to,
    is_rounding,
    refuse_constant,
    refuse_few,
)
from kgeval.metrics.intervals.mean_terms import MeanTerms, Units, mean_terms, units_of
from kgeval.metrics.intervals.random_halves import HALVES, RandomHalves
from kgeval.metrics.kinds import Needs
from kgeval.metrics.lists.ranked_lists import RankedLists
from kgeval.metrics.metric import Metric, OfGroups, Undefined
from kgeval.metrics.names import MetricName
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.metrics.selection import RowSelection


@dataclass(frozen=True, eq=False)
class SelectionIntervals:
    """The intervals of metrics of some rows, whose units are numbered once for all metrics."""

    selection: RowSelection
    intervals: Intervals
    _units_by_needs: dict[Needs, Units] = field(default_factory=dict, init=False, repr=False)

    def of_groups(self, name: MetricName, values: Mapping[int, float]) -> dict[int, Interval | NoInterval] | None:
        """Make the interval of a metric in each group, or say why there is none; ``values`` has the metric by group.

        ``None`` if the intervals have to be made group by group: the metric is no mean over answers or lists, or it is
        undefined in some group.
        """
        if not name.metric.averaged:
            return dict.fromkeys(values, NoInterval("it is a count"))
        compute: object = name.metric.compute
        grouped = self.selection.groups is not None
        if grouped and not isinstance(compute, OfGroups):
            return None
        try:
            units = self._units(name.metric.needs)
            terms = mean_terms(name, self.selection, units)
        except Undefined as reason:
            return None if grouped else dict.fromkeys(values, NoInterval(str(reason)))
        if terms is None and grouped:
            return None
        if terms is None:
            make = partial(self._bootstrapped, name, units)
            return {number: attempt(partial(make, value)) for number, value in values.items()}
        groups = np.zeros(units.count, np.int64)
        if grouped:
            groups[units.ids] = self.selection.groups_of(name.metric.needs)
        scatter = unit_scatter(terms, groups)
        return {
            number: attempt(partial(scatter.interval, name.metric, value, self.intervals, group=number))
            for number, value in values.items()
        }

    def _bootstrapped(self, name: MetricName, units: Units, value: float) -> Interval:
        refuse_few(units.count, units.kind)
        drawn = drawn_values(name, self.selection, units, intervals=self.intervals)
        return percentile_interval(name.metric, value, drawn, level=self.intervals.level, units=units)

    def _units(self, needs: Needs) -> Units:
        if needs not in self._units_by_needs:
            self._units_by_needs[needs] = units_of(self.selection, self.intervals.unit, needs=needs)
        return self._units_by_needs[needs]


def attempt(make: Callable[[], Interval]) -> Interval | NoInterval:
    """Make an interval, or say why there is none."""
    try:
        return make()
    except NoInterval as reason:
        return reason
    except Undefined as reason:  # its units are undefined, as when one list has several relations
        return NoInterval(str(reason))


@dataclass(frozen=True, eq=False)
class UnitScatter:
    """How much the units of each group scatter around the group's metric, and the interval that follows.

    A whole table is one group.
    """

    unit: Unit
    standard_errors: Float64Array
    """float64[group], the standard error of the metric"""
    counts: IntArray
    """int64[group], the number of units that have a weight"""
    effective: Float64Array
    """float64[group], how many units of equal weight would tell as much: (Σ w_c)² / Σ w_c² (Kish, 1965)"""
    degrees: Float64Array | None = None
    """float64[group], the degrees of freedom; by default one less than there are units"""
    bounded: BoundedMeans | None = None
    """how far the metric rests on few units, and the interval that it then has; ``None`` where that is not known"""
    halves: RandomHalves | None = None
    """the interval where a few units have most of the weight; ``None`` where no unit can have so much"""
    method: str = "linearised"

    def interval(self, metric: Metric, value: float, intervals: Intervals, *, group: int = 0) -> Interval:
        """Make the interval of a group; this method decides which of the kinds above it is."""
        count, error, level = int(self.counts[group]), float(self.standard_errors[group]), intervals.level
        refuse_few(count, self.unit)
        doubt = 0.0 if self.bounded is None else float(self.bounded.doubt[group])
        if self.bounded is None and is_rounding(error, value):
            ends = wilson(metric, value, float(self.effective[group]), level)
            return Interval(*ends, level, self.unit, count, "Wilson", 0.0)
        degrees = count - 1 if self.degrees is None else float(self.degrees[group])
        quantile, method = t_quantile(degrees, level), self.method
        ends = (-quantile * error, quantile * error)
        if self.halves is not None and doubt < 1 and self.halves.needed[group]:
            ends, method = self.halves.ends(group, intervals), HALVES
            error = (ends[1] - ends[0]) / (2 * quantile)
        low, high, clipped = clipped_to(metric, value, (value + ends[0], value + ends[1]))
        if self.bounded is None or not doubt:
            return Interval(low, high, level, self.unit, count, method, error, clipped)
        lower, upper = self.bounded.ends(level)[:, group].tolist()
        if not np.isfinite([lower, upper]).all():
            raise NoInterval(f"few {PLURAL[self.unit]} decide the value, which has no bounds")
        if lower == upper:
            raise NoInterval("the metric can have only this value")
        low, high = (1 - doubt) * low + doubt * lower, (1 - doubt) * high + doubt * upper
        return Interval(min(low, value), max(high, value), level, self.unit, count, BOUNDED, error)


def unit_scatter(terms: MeanTerms, groups: IntArray) -> UnitScatter:
    """Compute the scatter of the units of each group; ``groups`` are the units' groups, from 0; int64[unit].

    Two examples of four triples: as one group, with the standard error of the terms themselves; and as two groups.

    >>> from kgeval.metrics.intervals.mean_terms import Units, standard_error
    >>> units = Units.numbered("triple", np.arange(4))
    >>> terms = MeanTerms(np.array([[0.0, 0.5, 0.0, 1.0]]), np.ones(4), lambda mean: mean, units)
    >>> unit_scatter(terms, np.zeros(4, int)).standard_errors.round(6), round(standard_error(terms.deviations), 6)
    (array([0.239357]), 0.239357)
    >>> unit_scatter(terms, np.array([0, 0, 1, 1])).standard_errors
    array([0.25, 0.5 ])
    """
    sums, shares = terms.unit_sums, terms.unit_shares
    groups_of_units, num_groups = groups, 1 + groups.max(initial=-1)  # also those of which no unit has a weight
    has_weight = shares > 0
    if not has_weight.all():
        sums, shares, groups = sums[:, has_weight], shares[has_weight], groups[has_weight]
    counts = np.bincount(groups, minlength=num_groups)
    sums_by_group = partial(np.bincount, groups, minlength=num_groups)
    totals = sums_by_group(shares)
    with np.errstate(divide="ignore", invalid="ignore"):  # in groups without a weight, and where it is undefined
        means = np.stack([sums_by_group(sums_of_term) for sums_of_term in sums]) / totals  # M_j
        scaled_gradient = terms.gradient_at(means) / totals  # ∂f/∂M_j / Σ_c w_c
        deviations = -(scaled_gradient * means).sum(axis=0)[groups] * shares  # d_c: first its part with M_j w_c
        for slopes, sums_of_term in zip(scaled_gradient, sums, strict=True):
            deviations += slopes[groups] * sums_of_term  # then its part with s_cj
        variances = sums_by_group(deviations**2) * counts / np.maximum(counts - 1, 1)
        effective = totals**2 / sums_by_group(shares**2)
        bounded = BoundedMeans.of(terms, groups_of_units, means)
        halves = RandomHalves(deviations, shares / totals[groups], groups)
    return UnitScatter(terms.units.kind, np.sqrt(variances), counts, effective, bounded=bounded, halves=halves)


def t_quantile(degrees: float, level: float) -> float:
    """Return the two-sided quantile of Student's t: P(|T| ≤ result) = level, with ``degrees`` degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2))


def student_p(difference: float, error: float, degrees: float) -> float:
    """Compute P(|T| ≥ |difference| / error) of Student's t: the two-sided p-value of a difference."""
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(difference) / error))


def student_interval(
    metric: Metric, value: float, spread: tuple[float, float], *, logit: bool = False, **about: Any
) -> Interval:
    """Make Student's interval of a value, cut off at the range; ``spread``: its standard error and degrees of freedom.

    ``about`` has the level, unit, units and method of the interval. With ``logit``, the interval of a metric from 0 to
    1 is made for its logit, so that it stays in the range.
    """
    error, degrees = spread
    refuse_constant(error, value)
    half = t_quantile(degrees, about["level"]) * error
    ends = (value - half, value + half)
    if logit and (metric.lowest, metric.highest) == (0, 1) and 0 < value < 1:
        odds, factor = value / (1 - value), np.exp(half / (value * (1 - value)))
        ends, about["method"] = (odds / (odds + factor), odds / (odds + 1 / factor)), f"{about['method']}, logit"
    low, high, clipped = clipped_to(metric, value, ends)
    return Interval(low, high, **about, standard_error=error, clipped=clipped)


def wilson(metric: Metric, value: float, effective: float, level: float) -> tuple[float, float]:
    """Compute the score interval (Wilson, 1927) of a metric at an end of its range, of ``effective`` equal units."""
    from scipy.special import ndtri

    width = metric.highest - metric.lowest
    if not np.isfinite(width) or min(value - metric.lowest, metric.highest - value) > ZERO * max(1, abs(value)):
        raise NoInterval("the metric has the same value in all units")
    square = float(ndtri((1 + level) / 2)) ** 2
    reach = width * square / (effective + square)
    return (value, value + reach) if value - metric.lowest < metric.highest - value else (value - reach, value)


def percentile_interval(metric: Metric, value: float, drawn: Float64Array, *, level: float, units: Units) -> Interval:
    """Make the interval that contains the share ``level`` of the values of a bootstrap, ``drawn``; float64[draw]."""
    refuse_constant(error := float(drawn.std(ddof=1)), value)
    ends = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2]).tolist()
    low, high, clipped = clipped_to(metric, value, (ends[0], ends[1]))
    method = f"bootstrap, percentile, {len(drawn)} draws"
    return Interval(low, high, level, units.kind, units.count, method, error, clipped)


def drawn_values(name: MetricName, selection: RowSelection, units: Units, *, intervals: Intervals) -> Float64Array:
    """Compute a metric of the rows of each draw of a bootstrap; float64[draw]."""
    data, ids = _in_one_order(name, selection, units)
    places = np.arange(len(ids))
    values = np.empty(intervals.draws)
    with long_loop(f"bootstrap of {name}", intervals.draws, unit="draws") as report:
        for draw in range(intervals.draws):
            times = times_drawn(units.count, seed=intervals.seed, draw=draw)
            try:
                values[draw] = name(data.at(np.repeat(places, times[ids])))
            except Undefined as reason:
                raise NoInterval(f"it is undefined in a bootstrap sample: {reason}") from reason
            report(1)
    return values


def _in_one_order(name: MetricName, selection: RowSelection, units: Units) -> tuple[Ranks | RankedLists, IntArray]:
    """Return the ranks or lists, with their units, in an order that does not depend on the order of the table."""
    data = selection.data(name)
    if name.metric.needs == "lists":
        return data, units.ids
    order = np.lexsort([*(column[selection.rows] for column in selection.view.ids), units.ids])
    return data.at(order), units.ids[order]


def times_drawn(count: int, *, seed: int, draw: int) -> IntArray:
    """Draw as many units as there are, with replacement: how often each was drawn; int64[unit]."""
    generator = Generator(Philox(key=np.array([seed, draw], np.uint64), counter=[0, 0, 0, 0]))
    return np.bincount(generator.integers(0, count, count), minlength=count)
