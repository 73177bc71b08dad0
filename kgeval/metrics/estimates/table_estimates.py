"""The estimates of a table of sampled triples: metrics of the whole split, each with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.metrics.estimates.auxiliary_values import auxiliary_values
from kgeval.metrics.estimates.estimate import no_estimator
from kgeval.metrics.estimates.sampling import STRATUM, TYPED, Sampling
from kgeval.metrics.estimates.stratified_sample import Auxiliary, StratifiedSample
from kgeval.metrics.intervals.interval import Interval, NoInterval, clipped_to, is_rounding, refuse_few
from kgeval.metrics.intervals.linearised import t_quantile, wilson
from kgeval.metrics.intervals.mean_terms import MeanTerms, mean_terms
from kgeval.metrics.intervals.units import Units
from kgeval.metrics.metric import Undefined
from kgeval.metrics.numerics.numbered import numbered
from kgeval.metrics.ranks.classic import COUNT
from kgeval.metrics.tables.names import MetricName
from kgeval.metrics.tables.selection import RowSelection, TableView


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
        """Estimate a metric of the rows of the whole split that are like some of the table's.

        Raises
        ------
        Undefined
            if it has no estimator, or no value on these rows
        """
        if name.metric.name == COUNT.name:  # of the ranks that are there
            return name(selection.ranks(None, None))
        terms = self._terms(name, selection)
        value = float(terms.combine(*self._means(terms)))
        # A regression may go beyond the range, where no rank can.
        return name.metric.bounded(float(np.clip(value, name.metric.lowest, name.metric.highest)))

    def interval(self, name: MetricName, selection: RowSelection, value: float) -> Interval:
        """Make the interval that holds the metric of the whole split.

        Raises
        ------
        NoInterval
            if it has no estimator, if there are too few triples, or if they are all alike
        """
        if name.metric.name == COUNT.name:
            raise NoInterval("it counts, and estimates nothing")
        level, terms = self.sampling.settings.level, self._terms(name, selection)
        count = int((terms.unit_shares > 0).sum())
        refuse_few(count, "triple")
        means = self._means(terms)
        total = float(self._sample.weights @ terms.unit_shares)
        deviations = terms.gradient_at(means) @ (terms.unit_sums - np.outer(means, terms.unit_shares)) / total
        error = float(np.sqrt(max(self._sample.variance(deviations), 0)))
        method = "stratified, regression" if self.sampling.typed_counts else "stratified"
        if is_rounding(error, value):
            return Interval(*wilson(name.metric, value, count, level), level, "triple", count, "Wilson", 0.0)
        half = t_quantile(self._sample.degrees, level) * error
        low, high, clipped = clipped_to(name.metric, value, (value - half, value + half))
        return Interval(low, high, level, "triple", count, method, error, clipped)

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
        """Take the terms of a metric of some rows, by the units of the whole table."""
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
