"""Linearised intervals (delta method): the variance of f(M_1, M_2, …) from its gradient and the scatter of its units.

Cluster-robust linearisation (Binder, 1983): with s_cj = Σ w x_j and w_c = Σ w over the rows of unit c,
M_j = Σ_c s_cj / Σ_c w_c, and d_c = Σ_j ∂f/∂M_j (s_cj − M_j w_c) / Σ_c w_c: V = C/(C − 1) Σ_c d_c², and the interval is
f ± t √V with C − 1 degrees of freedom. Where few units carry the mean, it is that of a bounded mean. A difference that
is at an end of its range in all units has the interval of Wilson (1927) in place of one without width.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from kgeval.arrays import Float64Array, IntArray
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
    refuse_few,
)
from kgeval.metrics.intervals.mean_terms import MeanTerms
from kgeval.metrics.metric import Metric


@dataclass(frozen=True, eq=False)
class UnitScatter:
    """How much the units of each group scatter around its metric; of a whole table, there is one group."""

    unit: Unit
    standard_errors: Float64Array
    """float64[group]"""
    counts: IntArray
    """int64[group], the units that have a weight"""
    effective: Float64Array
    """float64[group], how many units of equal weight would tell as much: (Σ w_c)² / Σ w_c² (Kish, 1965)"""
    degrees: Float64Array | None = None
    """float64[group], of freedom; by default one less than there are units"""
    bounded: BoundedMeans | None = None
    """how far few units carry the metric, and the interval that it then has; ``None`` where that is not known"""
    method: str = "linearised"

    def interval(self, metric: Metric, value: float, intervals: Intervals, *, group: int = 0) -> Interval:
        """Make the interval of a group: here it is decided which one a mean has."""
        count, error, level = int(self.counts[group]), float(self.standard_errors[group]), intervals.level
        refuse_few(count, self.unit)
        doubt = 0.0 if self.bounded is None else float(self.bounded.doubt[group])
        if self.bounded is None and is_rounding(error, value):
            ends = wilson(metric, value, float(self.effective[group]), level)
            return Interval(*ends, level, self.unit, count, "Wilson", 0.0)
        degrees = count - 1 if self.degrees is None else float(self.degrees[group])
        half = t_quantile(degrees, level) * error
        low, high, clipped = clipped_to(metric, value, (value - half, value + half))
        if self.bounded is None or not doubt:
            return Interval(low, high, level, self.unit, count, self.method, error, clipped)
        lower, upper = self.bounded.ends(level)[:, group].tolist()
        if not np.isfinite([lower, upper]).all():
            raise NoInterval(f"few {PLURAL[self.unit]} carry it, and its values have no bounds")
        if lower == upper:
            raise NoInterval("it has the only value that it can have")
        low, high = (1 - doubt) * low + doubt * lower, (1 - doubt) * high + doubt * upper
        return Interval(min(low, value), max(high, value), level, self.unit, count, BOUNDED, error)


def unit_scatter(terms: MeanTerms, groups: IntArray) -> UnitScatter:
    """Compute the scatter of the units of each group, numbered from 0; int64[unit].

    The same as of the terms themselves, and as of two tables of two triples each.

    >>> from kgeval.metrics.intervals.units import Units
    >>> units = Units.numbered("triple", np.arange(4))
    >>> terms = MeanTerms(np.array([[0.0, 0.5, 0.0, 1.0]]), np.ones(4), lambda mean: mean, units)
    >>> unit_scatter(terms, np.zeros(4, int)).standard_errors.round(6), terms.standard_error.__round__(6)
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
        deviations = -(scaled_gradient * means).sum(axis=0)[groups] * shares  # d_c: first the part of M_j w_c
        for slopes, sums_of_term in zip(scaled_gradient, sums, strict=True):
            deviations += slopes[groups] * sums_of_term  # then that of s_cj
        variances = sums_by_group(deviations**2) * counts / np.maximum(counts - 1, 1)
        effective = totals**2 / sums_by_group(shares**2)
        bounded = BoundedMeans.of(terms, groups_of_units, means)
    return UnitScatter(terms.units.kind, np.sqrt(variances), counts, effective, bounded=bounded)


def wilson(metric: Metric, value: float, effective: float, level: float) -> tuple[float, float]:
    """Compute the score interval (Wilson, 1927) of a metric at an end of its range."""
    from scipy.special import ndtri

    width = metric.highest - metric.lowest
    if not np.isfinite(width) or min(value - metric.lowest, metric.highest - value) > ZERO * max(1, abs(value)):
        raise NoInterval("it is the same in all units, so they do not show how it varies")
    square = float(ndtri((1 + level) / 2)) ** 2
    reach = width * square / (effective + square)
    return (value, value + reach) if value - metric.lowest < metric.highest - value else (value - reach, value)


def t_quantile(degrees: float, level: float) -> float:
    """Return the two-sided quantile of Student's t: P(|T| ≤ result) = level, with ``degrees`` degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2))
