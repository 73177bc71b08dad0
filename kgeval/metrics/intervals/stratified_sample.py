"""Estimates from a stratified sample: a metric of the whole split from the ranks of some triples, with its interval.

``rank_summary`` asks :class:`TableEstimates` for the metrics of a table of sampled triples; a
:class:`StratifiedSample` has the weight of each triple and the variance of a mean. The formulas:

A mean is estimated as Σ_i w_i y_i over the n sampled triples. A stratum h is one large relation, or several small ones;
it has N_h of the split's N triples, of which n_h are sampled, and W_h = N_h/N. With strata alone, w_i = W_h/n_h, and V
= Σ_h W_h² (1/n_h − 1/N_h) s²_h (Cochran, 1977, section 5.6), where 1/N_h is the finite-population correction and s²_h
the variance of y in the stratum.

The sampled triples are the first n of a random order. Auxiliary values x are made of their ranks among few candidates,
those of the right type (``sampling.py``): they are cheap, and known of the first n′ ≥ n triples. The regression
estimator ȳ + b (x̄′ − x̄) is Σ_i w_i y_i too, with weights that give x̄′ for x, the same for every y (calibration;
Deville and Särndal, 1992). In two phases, V = Σ_h W_h² ((1/n_h − 1/n′_h) s²_eh + (1/n′_h − 1/N_h) s²_yh), e being the
residuals of y on x, each times its calibration w_i n_h/W_h (Cochran, 1977, section 12.6; Särndal, Swensson and Wretman,
1992, 9.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.metrics.averages import numbered
from kgeval.metrics.intervals.bounded_means import BoundedMeans
from kgeval.metrics.intervals.estimate import no_estimator
from kgeval.metrics.intervals.interval import Interval, Intervals, NoInterval, refuse_few
from kgeval.metrics.intervals.mean_terms import MeanTerms, Units, mean_terms
from kgeval.metrics.intervals.sampling import STRATUM, TYPED, Sampling
from kgeval.metrics.intervals.selection_intervals import UnitScatter
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName
from kgeval.metrics.ranks.rank_metrics import COUNT
from kgeval.metrics.selection import RowSelection, TableView

COLLINEAR = 1e-9
"""the share of the largest eigenvalue below which a combination of auxiliary values counts as constant"""


@dataclass(frozen=True, eq=False)
class TableEstimates:
    """The metrics of a whole split, estimated from a table of sampled triples. A triple with all its sides is a unit.

    A metric f(M_1, M_2, …) of some rows is estimated from M_j = Σ_i w_i s_ij / Σ_i w_i m_i, where s_ij is the sum of a
    value over the m_i rows of triple i: a ratio, also where only some triples have such rows (a domain; Särndal,
    Swensson and Wretman, 1992, section 5.8). Its variance is that of Σ_i w_i d_i, with
    d_i = Σ_j ∂f/∂M_j (s_ij − M_j m_i) / Σ_i w_i m_i.
    """

    view: TableView
    sampling: Sampling

    @classmethod
    def of(cls, view: TableView) -> TableEstimates | None:
        """Return the estimates of a table of sampled triples; ``None`` if the table has the whole split."""
        return None if view.table.sampling is None else cls(view, view.table.sampling)

    def value(self, name: MetricName, selection: RowSelection) -> float:
        """Estimate a metric of the rows of the whole split for which the selected rows of the table stand."""
        if name.metric.name == COUNT.name:  # the number of ranks in the table
            return name(selection.ranks(None, None))
        terms = self._terms(name, selection)
        value = float(terms.combine(*self._means(terms)))
        # A regression may go beyond the range, where no rank can.
        return name.metric.bounded(float(np.clip(value, name.metric.lowest, name.metric.highest)))

    def interval(self, name: MetricName, selection: RowSelection, value: float) -> Interval:
        if name.metric.name == COUNT.name:
            raise NoInterval("it is a count")
        level, terms = self.sampling.settings.level, self._terms(name, selection)
        sample, group = self._sample, terms.unit_shares > 0
        refuse_few(count := int(group.sum()), "triple")
        if (not_drawn := sample.not_drawn(group)) <= 0:
            raise NoInterval("all triples were ranked, so the number is exact")
        means = self._means(terms)
        weights = sample.weights * terms.unit_shares
        moved = (terms.unit_sums - np.outer(means, terms.unit_shares)) / weights.sum()
        slopes = terms.linear_at(means[:, None])[1][:, 0]
        errors, variance = sample.errors(slopes @ moved), np.array([sample.variance(slopes @ moved)])
        bounded = BoundedMeans.of(
            terms,
            np.zeros(len(group), np.int64),
            means[:, None],
            weights=np.maximum(weights, 0),  # a regression may give a triple a negative weight
            errors=(errors, variance),
            narrowing=float(np.sqrt(not_drawn)),
        )
        scatter = UnitScatter(
            "triple",
            np.sqrt(np.maximum([sample.variance(terms.gradient_at(means) @ moved)], 0)),
            np.array([count]),
            np.array([count], np.float64),
            np.array([sample.degrees_of(group)]),
            bounded,
            method="stratified, regression" if self.sampling.typed_counts else "stratified",
        )
        return scatter.interval(name.metric, value, Intervals(level=level))

    def explained(self, name: MetricName, selection: RowSelection) -> float:
        """R² of the regression of a metric on the auxiliary values."""
        terms = self._terms(name, selection)
        means = self._means(terms)
        deviations = terms.gradient_at(means) @ (terms.unit_sums - np.outer(means, terms.unit_shares))
        return self._sample.explained(deviations)

    def _means(self, terms: MeanTerms) -> Float64Array:
        """The estimated means M_j; float64[term]."""
        weights = self._sample.weights
        return np.asarray(terms.unit_sums @ weights / (terms.unit_shares @ weights), np.float64)

    def _terms(self, name: MetricName, selection: RowSelection) -> MeanTerms:
        """Return the terms of a metric of some rows, by the units of the whole table."""
        if reason := no_estimator(name):
            raise Undefined(f"it {reason}")
        if not len(selection.ranks(None, None)):
            raise Undefined("there are no ranks")
        units = Units("triple", self._units[selection.rows], len(self._strata))
        terms = mean_terms(name, selection, units)
        if terms is None:
            raise Undefined("it has no estimator")
        return terms

    @cached_property
    def _units(self) -> IntArray:
        """The number of each row's triple; int64[row]."""
        return numbered(np.asarray(self.view.table.column("triple")))[1]

    @cached_property
    def _strata(self) -> IntArray:
        """The stratum of each triple; int64[triple]."""
        strata = np.empty(int(self._units.max(initial=-1)) + 1, np.int64)
        strata[self._units] = self.view.table.column(STRATUM)
        return strata

    @cached_property
    def _sample(self) -> StratifiedSample:
        sampling, auxiliary = self.sampling, None
        if sampling.typed_counts:
            values = auxiliary_values(self._units, *(np.asarray(self.view.table.column(name)) for name in TYPED))
            auxiliary = Auxiliary(values, np.array(sampling.typed_counts), np.array(sampling.typed_means))
        return StratifiedSample(self._strata, np.array(sampling.counts), np.array(sampling.sizes), auxiliary)


@dataclass(frozen=True, eq=False)
class StratifiedSample:
    """Triples that were drawn from each stratum at random, without replacement."""

    strata: IntArray
    """the stratum of each triple that has a row; int64[triple]. Drawn triples without a row have y = 0"""
    counts: IntArray
    """n_h, the number of drawn triples; int64[stratum]"""
    sizes: IntArray
    """N_h, the number of all triples; int64[stratum]"""
    auxiliary: Auxiliary | None = None
    """the values that a regression uses; given only where all sampled triples have a row"""

    @property
    def degrees(self) -> int:
        """The degrees of freedom of a variance: the triples less the fitted means and slopes; at least 1."""
        return max(int(self.counts.sum()) - len(self.sizes) - self._regression.rank, 1)

    def degrees_of(self, group: BoolArray) -> float:
        """The degrees of freedom of the variance of the triples in ``group`` (bool[triple]): their part of all."""
        of_strata = float((1 / self.counts)[self.strata[group]].sum())
        fitted = of_strata + self._regression.rank * int(group.sum()) / int(self.counts.sum())
        return float(max(int(group.sum()) - max(fitted, 1), 1))

    def not_drawn(self, group: BoolArray) -> float:
        """The finite-population correction 1 − f of some triples (bool[triple]); f is the share that was drawn."""
        return float(1 - (self.counts / self.sizes)[self.strata[group]].mean())

    @cached_property
    def weights(self) -> Float64Array:
        """The share of each triple in the estimate of a mean; of a whole sample they add up to 1; float64[triple]."""
        return self._design * self._regression.calibration

    def variance(self, values: Float64Array) -> float:
        """Estimate the variance of Σ_i w_i y_i, y being some values; float64[triple]."""
        known = self.counts if self.auxiliary is None else self.auxiliary.counts
        within = self._shares**2 * (1 / self.counts - 1 / known) @ self._squares_of_residuals(values)
        return float(within + self._shares**2 * (1 / known - 1 / self.sizes) @ self._squares(values))

    def errors(self, values: Float64Array) -> Float64Array:
        """What each triple adds to the error of Σ_i w_i y_i; float64[triple].

        The correction for draws without replacement is not in it; a caller applies it by :meth:`not_drawn`.
        """
        return self._design * self._residuals(values)

    def explained(self, values: Float64Array) -> float:
        """R²: the share of the variance within strata that the regression on the auxiliary values explains."""
        whole = self.sizes @ self._squares(values)
        return float(1 - self.sizes @ self._squares_of_residuals(values) / whole) if whole > 0 else 0.0

    @cached_property
    def _design(self) -> Float64Array:
        """W_h/n_h; float64[triple]."""
        return np.asarray((self._shares / self.counts)[self.strata], np.float64)

    @property
    def _shares(self) -> Float64Array:
        """W_h; float64[stratum]."""
        return np.asarray(self.sizes / self.sizes.sum(), np.float64)

    def _squares(self, values: Float64Array) -> Float64Array:
        """s²_h; float64[stratum]."""
        means = self._sums(values) / self.counts
        # A drawn triple without a row has y = 0, so its squared deviation is the square of the mean.
        absent = (self.counts - np.bincount(self.strata, minlength=len(self.sizes))) * means**2
        return (self._sums((values - means[self.strata]) ** 2) + absent) / np.maximum(self.counts - 1, 1)

    def _squares_of_residuals(self, values: Float64Array) -> Float64Array:
        """s²_eh; float64[stratum]."""
        # The slopes that were fitted take degrees of freedom from the residuals.
        lost = (self.counts.sum() - len(self.sizes)) / self.degrees
        return np.asarray(lost * self._squares(self._residuals(values)), np.float64)

    def _residuals(self, values: Float64Array) -> Float64Array:
        """e, each times its calibration; float64[triple]."""
        fit = self._regression
        residuals = self.centred(values)
        residuals -= fit.predictors @ (fit.inverse @ ((self._design * residuals) @ fit.predictors))
        return np.asarray(residuals * fit.calibration, np.float64)

    def _sums(self, values: Float64Array) -> Float64Array:
        return np.asarray(np.bincount(self.strata, values, minlength=len(self.sizes)), np.float64)

    def centred(self, values: Float64Array) -> Float64Array:
        """Subtract the mean of each stratum; float64[triple]."""
        return np.asarray(values - (self._sums(values) / self.counts)[self.strata], np.float64)

    @cached_property
    def _regression(self) -> _Regression:
        if self.auxiliary is None:
            return _Regression(np.zeros((len(self.strata), 0)), np.zeros((0, 0)), np.ones(len(self.strata)), 0)
        predictors = np.stack([self.centred(column) for column in self.auxiliary.values.T], axis=1)
        products = (predictors * self._design[:, None]).T @ predictors
        inverse = np.asarray(np.linalg.pinv(products, rcond=COLLINEAR, hermitian=True), np.float64)
        rank = int(np.linalg.matrix_rank(products, COLLINEAR * np.linalg.norm(products, 2), hermitian=True))
        # Calibration: weights that give the known means x̄′ instead of the sample's.
        gap = self._shares @ self.auxiliary.means - self._design @ self.auxiliary.values
        return _Regression(predictors, inverse, 1 + predictors @ (inverse @ gap), rank)


@dataclass(frozen=True, eq=False)
class Auxiliary:
    """Values that are known of at least the sampled triples."""

    values: Float64Array
    """x; float64[sampled triple, value]"""
    counts: IntArray
    """n′_h; int64[stratum]"""
    means: Float64Array
    """x̄′_h, over all triples of which they are known; float64[stratum, value]"""


@dataclass(frozen=True, eq=False)
class _Regression:
    """The regression on auxiliary values, as far as it is the same for every y."""

    predictors: Float64Array
    """x less the mean of its stratum; float64[triple, value]"""
    inverse: Float64Array
    """the inverse of Σ_i (W_h/n_h) x_i x_iᵀ, in the directions in which x varies; float64[value, value]"""
    calibration: Float64Array
    """w_i n_h/W_h, by which the regression multiplies the weight of a triple; float64[triple]"""
    rank: int
    """the number of directions in which x varies"""


def auxiliary_values(units: IntArray, greater: IntArray, tied: IntArray) -> Float64Array:
    """Compute 1/r, [r ≤ k] and log r of realistic ranks, as means over each triple's sides; float64[triple, value].

    ``units`` are the triples of the rows, from 0, and ``greater`` and ``tied`` their counts; int64[row] each.
    """
    ranks = 1 + greater + tied / 2
    values = [1 / ranks, *((ranks <= k).astype(np.float64) for k in (1, 3, 10)), np.log(ranks)]
    return np.stack([np.bincount(units, value) for value in values], axis=1) / np.bincount(units)[:, None]
