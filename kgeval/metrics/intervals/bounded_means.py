"""Bounded means: intervals where few units carry a mean, which allow for values that no unit at hand has.

``selection_intervals.py`` and ``stratified_sample.py`` make :class:`BoundedMeans` of terms and units, and move the ends
of an interval towards its ends, by its ``doubt`` from 0 to 1.

A thousand triples without a hit say little of a share of hits below 3/1000, and a mean of 1/r has the same doubt, for
its values go up to 1 too. The upper end of a mean of C values in [a, b] is the quantile of Σ D_i x_i, with a further
x_0 = b and D uniform on the simplex (Gaffke, 2005; Learned-Miller and Thomas, 2020); the lower end is its mirror image,
with x_0 = a. Of zeros and ones this is the interval of Clopper and Pearson (1934), to within half a percent of its
width: the quantile is approximated. If a value grows, no end falls: the ends of hits@1 are never above the ends of
hits@3 or of the MRR.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.metrics.intervals.mean_terms import MeanTerms

SKEWNESS = (40**-0.5, 20**-0.5)
"""two limits of the estimated skewness of a mean: below the first, Student's interval is used; above the second, the
interval of a bounded mean; between them the ends move from one to the other. k rare hits have the skewness 1/√k"""

REACH = (2 / 3, 1.0)
"""two limits as above, of another number: how many standard errors one further unit at an end of the range would move
the mean"""

STEPS, PRECISE = 60, 1e-9
"""the most steps of a search for a normal quantile, and how near it then is; about ten are enough"""

NEAR_ZERO = 1e-3
"""the least |x| of the search: at x = 0, the normal quantile is 0/0"""


@dataclass(frozen=True, eq=False)
class BoundedMeans:
    """The means of groups of units, whose values lie in a range; a whole table is one group.

    An example of 20 triples without a hit: nearly the limits of Clopper and Pearson, 0 and 1 − .025^(1/20) = .168.

    >>> hits, doubt = np.zeros(20), np.ones(1)
    >>> BoundedMeans(hits, np.ones(20), np.zeros(20, int), np.array([[0.0], [1.0]]), doubt).ends(0.95).round(3).ravel()
    array([0.   , 0.169])
    """

    values: Float64Array
    """float64[unit], the value of each unit"""
    weights: Float64Array
    """float64[unit], for how many units of equal weight each unit counts"""
    groups: IntArray
    """int64[unit], the group of each unit"""
    limits: Float64Array
    """float64[2, group], the ends of the range of the values"""
    doubt: Float64Array
    """float64[group], how much of the interval is that of a bounded mean: 0 none, 1 all of it"""
    combine: Callable[..., Any] = lambda mean: mean
    """the metric, a monotone function of the mean"""
    narrowing: float = 1.0
    """√(1 − f), where f is the share of all existing units that was drawn"""
    _found: dict[float, Float64Array] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        terms: MeanTerms,
        groups: IntArray,
        means: Float64Array,
        *,
        weights: Float64Array | None = None,
        errors: tuple[Float64Array, Float64Array] | None = None,
        narrowing: float = 1.0,
    ) -> BoundedMeans:
        """Make the value of each unit, as a value of the linearised metric or, if there is one mean, of this mean.

        ``groups`` are the units' groups; int64[unit]. ``means`` are the M_j of each group; float64[term, group].
        ``weights`` are the weights of the units in the means, by default those of the terms; float64[unit]. ``errors``
        are needed if the units are no independent sample: what each unit adds to the error of the mean, float64[unit],
        and the variance of the mean, float64[1].
        """
        weights = terms.unit_shares if weights is None else weights
        linear, count, chosen = _linear(terms, means), means.shape[1], weights > 0
        ids, weights = groups[chosen], weights[chosen]
        values = linear(terms.unit_sums[:, chosen] / terms.unit_shares[chosen], ids)
        rows = groups[terms.units.ids[terms.weights > 0]]
        limits = _limits(terms, linear, rows, count)
        np.minimum.at(limits[0], ids, values)
        np.maximum.at(limits[1], ids, values)
        with np.errstate(divide="ignore", invalid="ignore"):  # in groups without a unit
            totals, squares = (np.bincount(ids, weights**power, minlength=count) for power in (1, 2))
            centres = np.bincount(ids, weights * values, minlength=count) / totals
            of_triple = np.minimum(1, 2 * np.bincount(ids, minlength=count) / np.bincount(rows, minlength=count))
            reach = np.maximum(limits[1] - centres, centres - limits[0]) * of_triple * squares / totals**2
            counted = weights * (totals / squares)[ids]
        if errors is None:
            doubt = doubts(weights / totals[ids] * (values - centres[ids]), ids, reach)
        else:
            doubt = doubts(errors[0], groups, reach * narrowing, errors[1])
        combine = terms.combine if len(means) == 1 else lambda metric: metric
        return cls(values, counted, ids, limits, doubt, combine, narrowing)

    def ends(self, level: float) -> Float64Array:
        """Compute both ends for each group whose doubt is above 0; float64[2, group], NaN for other groups."""
        if level not in self._found:
            self._found[level] = self._ends(level)
        return self._found[level]

    def _ends(self, level: float) -> Float64Array:
        found = np.full(self.limits.shape, np.nan)
        wanted = np.flatnonzero((self.doubt > 0) & np.isfinite(self.limits).all(axis=0))
        if len(wanted):
            places = np.full(self.limits.shape[1], -1)
            places[wanted] = np.arange(len(wanted))
            kept = places[self.groups] >= 0
            values, weights, groups = self.values[kept], self.weights[kept], places[self.groups[kept]]
            centres = np.bincount(groups, weights * values) / np.bincount(groups, weights)
            for side, sign in enumerate((-1, 1)):
                limit = sign * self.limits[side, wanted]
                end = sign * upper_ends(sign * values, weights, groups, limit, (1 + level) / 2)
                found[side, wanted] = centres + self.narrowing * (end - centres)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.sort(self.combine(found), axis=0), np.float64)


def _linear(terms: MeanTerms, means: Float64Array) -> Callable[[Float64Array, IntArray], Float64Array]:
    """Return the linear function that stands for a metric in each group: (float64[term, …], groups) -> float64[…]."""
    base, slopes = terms.linear_at(means)

    def linear(values: Float64Array, groups: IntArray) -> Float64Array:
        moved = (slope[groups] * (row - mean[groups]) for slope, row, mean in zip(slopes, values, means, strict=True))
        return np.asarray(base[groups] + sum(moved), np.float64)

    return linear


def _limits(
    terms: MeanTerms, linear: Callable[[Float64Array, IntArray], Float64Array], rows: IntArray, count: int
) -> Float64Array:
    """Compute the ends of the range of each group's values, infinite where there are none; float64[2, group]."""
    if terms.limits is None:
        return np.stack([np.full(count, -np.inf), np.full(count, np.inf)])
    limits = np.stack([np.full(count, np.inf), np.full(count, -np.inf)])
    for end in terms.limits():
        of_rows = linear(np.broadcast_to(end, terms.values.shape)[:, terms.weights > 0], rows)
        np.minimum.at(limits[0], rows, of_rows)
        np.maximum.at(limits[1], rows, of_rows)
    return limits


def doubts(
    contributions: Float64Array, groups: IntArray, reach: Float64Array, variances: Float64Array | None = None
) -> Float64Array:
    """Judge how far each group is from a mean that many units carry, from 0 to 1; float64[group].

    ``contributions`` are what each unit adds to the error of its group's mean; float64[unit]. ``reach`` is how far one
    further unit at an end of the range would move the mean, infinite where the range has no end; float64[group].
    ``variances`` are those of the means, by default the sums of the squares of the contributions; float64[group].
    """
    squares, cubes = (np.bincount(groups, contributions**power, minlength=len(reach)) for power in (2, 3))
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = np.abs(cubes) / squares**1.5
        errors = np.sqrt(squares if variances is None else variances)
        reach = np.where(np.isfinite(reach), reach / errors, 0)
        found = [(x - low) / (high - low) for x, (low, high) in ((skewness, SKEWNESS), (reach, REACH))]
    doubt = np.clip(np.maximum(*found), 0, 1)
    return np.asarray(np.where(np.isnan(doubt), 1, doubt), np.float64)  # NaN where all units are alike


def upper_ends(
    values: Float64Array, weights: Float64Array, groups: IntArray, highest: Float64Array, share: float
) -> Float64Array:
    """Compute the upper end of each group's mean, below which the mean is with probability ``share``; float64[group].

    The quantile of Σ D_i x_i, D having Dirichlet's distribution with the units' weights and 1 for the end of the range,
    is that at which Σ G_i (x_i − t) is negative with this probability, G_i being gamma variables. Its distribution is
    that of the saddlepoint (Barndorff-Nielsen, 1990), which is right to half a percent here; the saddlepoint η of each
    t is not searched for, for t is an explicit function of η.
    """
    from scipy.special import ndtri

    count, target = len(highest), float(ndtri(share))
    lowest = highest.copy()
    np.minimum.at(lowest, groups, values)
    span = highest - lowest
    scaled = (values - lowest[groups]) / np.where(span > 0, span, 1)[groups]
    total = np.bincount(groups, weights, minlength=count) + 1

    def sums(of_units: Float64Array) -> Float64Array:
        return np.asarray(np.bincount(groups, of_units, minlength=count), np.float64)

    def at(x: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Compute how far the normal quantile of t is above the target, and t, for η = 1 − exp(−x)."""
        x = np.where(np.abs(x) < NEAR_ZERO, np.copysign(NEAR_ZERO, x), x)
        eta, end = -np.expm1(-x), np.exp(x)
        left = 1 - eta[groups] * scaled
        tilted = weights / left
        t = (sums(tilted * scaled) + end) / (sums(tilted) + end)
        cumulants = total * np.log1p(-eta * t) - sums(weights * np.log(left)) + x
        root = np.sign(x) * np.sqrt(np.maximum(-2 * cumulants, 0))
        second = sums(tilted / left * (scaled - t[groups]) ** 2) + ((1 - t) * end) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            return root + np.log(eta * np.sqrt(second) / root) / root - target, t

    return np.asarray(np.where(span > 0, lowest + span * _root(at, count), highest), np.float64)


def _root(at: Callable[[Float64Array], tuple[Float64Array, Float64Array]], count: int) -> Float64Array:
    """Find where increasing functions are zero (false position; Dowell and Jarratt, 1971), and the value t there."""
    low, high = np.full(count, NEAR_ZERO), np.ones(count)
    low = np.where(at(low)[0] > 0, -40.0, low)
    while ((of_high := at(high)[0]) < 0).any() and high.max() < 64:
        high = np.where(of_high < 0, 2 * high, high)
    of_low, t = at(low)
    last = np.zeros(count)
    for _ in range(STEPS):
        gap = of_high - of_low
        x = np.where(gap > 0, high - of_high * (high - low) / np.where(gap > 0, gap, 1), low)
        found, t = at(x)
        if not (np.abs(found) > PRECISE).any():  # NaN where all values are the end of the range
            break
        side = np.where(found >= 0, 1, -1)
        old = np.where(side > 0, of_high, of_low)
        again = (side == last) & (old + found != 0)
        factor = np.where(again, old / np.where(again, old + found, 1), 1)  # for an end that stays a second time
        of_low, of_high = np.where(side > 0, factor * of_low, found), np.where(side > 0, found, factor * of_high)
        low, high, last = np.where(side > 0, low, x), np.where(side > 0, x, high), side
    return t
