"""The estimates of a table of sampled triples: metrics of the whole split, each with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.metrics.averages import numbered
from kgeval.metrics.intervals.bounded_means import BoundedMeans
from kgeval.metrics.intervals.estimate import STRATUM, TYPED, Sampling, no_estimator
from kgeval.metrics.intervals.interval import Interval, Intervals, NoInterval, refuse_few
from kgeval.metrics.intervals.mean_terms import MeanTerms, Units, mean_terms
from kgeval.metrics.intervals.selection_intervals import UnitScatter
from kgeval.metrics.intervals.stratified_sample import Auxiliary, StratifiedSample, auxiliary_values
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName
from kgeval.metrics.ranks.classic import COUNT
from kgeval.metrics.selection import RowSelection, TableView


@dataclass(frozen=True, eq=False)
class TableEstimates:
    """The sampled triples of a table, each with all of its sides a unit.

    A metric f(M_1, M_2, …) of some rows is estimated from M_j = Σ_i w_i s_ij / Σ_i w_i m_i, where s_ij is the sum of a
    value over the m_i rows of triple i: a ratio, also where only some triples have such rows (a domain; Särndal,
    Swensson and Wretman, 1992, section 5.8). Its variance is that of Σ_i w_i d_i, with
    d_i = Σ_j ∂f/∂M_j (s_ij − M_j m_i) / Σ_i w_i m_i.
    """

    view: TableView
    sampling: Sampling

    @classmethod
    def of(cls, view: TableView) -> TableEstimates | None:
        """Return the estimates of a table of sampled triples; of a whole split, there are none."""
        return None if view.table.sampling is None else cls(view, view.table.sampling)

    def value(self, name: MetricName, selection: RowSelection) -> float:
        """Estimate a metric of the rows of the whole split that are like some of the table's."""
        if name.metric.name == COUNT.name:  # of the ranks that are there
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
            weights=np.maximum(weights, 0),  # a regression may weigh a triple less than nothing
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
        """M_j; float64[term]."""
        weights = self._sample.weights
        return np.asarray(terms.unit_sums @ weights / (terms.unit_shares @ weights), np.float64)

    def _terms(self, name: MetricName, selection: RowSelection) -> MeanTerms:
        """Return the terms of a metric of some rows, by the units of the whole table."""
        if reason := no_estimator(name):
            raise Undefined(f"it {reason}")
        if not len(selection.ranks(None, None)):
            raise Undefined("there are no ranks")
        units = Units("triple", self._units[selection.rows], len(self._strata))
        terms = mean_terms(name, selection, unit="triple", units=units)
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
