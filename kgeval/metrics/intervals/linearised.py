"""Linearised intervals: a function of means is as uncertain as its first-order change by each unit makes it.

Cluster-robust linearisation (Binder, 1983): with s_c and w_c the sums of w x and w over the rows of unit c, and M their
ratio over all of them, V = C/(C − 1) Σ (s_c − M w_c)² / (Σ w_c)², and the interval is M ± t √V with C − 1 degrees of
freedom. A metric that is 0 or 1 (or at either end of another finite range) in all units has the interval of Wilson
(1927) in place of one without width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.metrics.intervals.interval import (
    ZERO,
    Interval,
    Intervals,
    NoInterval,
    clipped_to,
    is_rounding,
    refuse_few,
)
from kgeval.metrics.intervals.mean_terms import MeanTerms
from kgeval.metrics.intervals.units import Unit
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

    def interval(self, metric: Metric, value: float, intervals: Intervals, *, group: int = 0) -> Interval:
        """Make the interval of a group.

        Raises
        ------
        NoInterval
            if it has too few units, or if they are all alike
        """
        count, error = int(self.counts[group]), float(self.standard_errors[group])
        refuse_few(count, self.unit)
        if is_rounding(error, value):
            ends, method = wilson(metric, value, float(self.effective[group]), intervals.level), "Wilson"
            low, high, clipped, error = *ends, False, 0.0
        else:
            half, method = t_quantile(count - 1, intervals.level) * error, "linearised"
            low, high, clipped = clipped_to(metric, value, (value - half, value + half))
        return Interval(low, high, intervals.level, self.unit, count, method, error, clipped)


def unit_scatter(terms: MeanTerms, groups: IntArray) -> UnitScatter:
    """Compute the scatter of the units of each group.

    Parameters
    ----------
    terms
        the metric
    groups
        the group of each unit, from 0; int64[unit]

    Examples
    --------
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
    weighed = shares > 0
    if not weighed.all():
        sums, shares, groups = sums[:, weighed], shares[weighed], groups[weighed]
    counts = np.bincount(groups)
    totals = np.bincount(groups, shares)
    with np.errstate(divide="ignore", invalid="ignore"):  # in groups without a weight, and where it is undefined
        means = np.stack([np.bincount(groups, of_units) for of_units in sums]) / totals
        slopes = terms.gradient_at(means) / totals
        deviations = -(slopes * means).sum(axis=0)[groups] * shares
        for slope, of_units in zip(slopes, sums, strict=True):
            deviations += slope[groups] * of_units
        variances = np.bincount(groups, deviations**2) * counts / np.maximum(counts - 1, 1)
        effective = totals**2 / np.bincount(groups, shares**2)
    return UnitScatter(terms.units.kind, np.sqrt(variances), counts, effective)


def wilson(metric: Metric, value: float, effective: float, level: float) -> tuple[float, float]:
    """Compute the score interval (Wilson, 1927) of a metric at an end of its range.

    Raises
    ------
    NoInterval
        if it is not at the end of a finite one, where units that are all alike tell nothing of others
    """
    from scipy.special import ndtri

    width = metric.highest - metric.lowest
    if not np.isfinite(width) or min(value - metric.lowest, metric.highest - value) > ZERO * max(1, abs(value)):
        raise NoInterval("it is the same in all units, which tells nothing of others")
    square = float(ndtri((1 + level) / 2)) ** 2
    reach = width * square / (effective + square)
    return (value, value + reach) if value - metric.lowest < metric.highest - value else (value - reach, value)


def t_quantile(degrees: float, level: float) -> float:
    """Return how many standard errors of Student's distribution hold a share of it."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2))
