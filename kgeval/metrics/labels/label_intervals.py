"""Intervals of label metrics, from the scatter of what single triples or relations add to a metric.

``label_summary.py`` calls ``label_interval``; ``label_comparison.py`` tests differences by the same :class:`Scatter`.

A metric is linearised (Binder, 1983): d is what a triple adds to it, and Σ d = 0. For ``roc_auc`` this is the method of
DeLong, DeLong and Clarke-Pearson (1988). The numbers of true and of false triples are fixed, so that d scatters around
its mean in each class c. The variance is V = Σ_c n_c/(n_c − 1) Σ (d − d̄_c)², with the degrees of freedom of Welch
(1947). Where whole relations are resampled, d is summed over each of the R relations, and V = R/(R − 1) Σ d². The
interval of a metric from 0 to 1 is Student's interval of its logit, so that it stays in the range.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.metrics.intervals.interval import (
    Interval,
    Intervals,
    NoInterval,
    Unit,
    is_rounding,
    refuse_few,
    too_few,
)
from kgeval.metrics.intervals.selection_intervals import student_interval, wilson
from kgeval.metrics.labels.fitted import LabelPredictions
from kgeval.metrics.labels.label_metrics import Linearised
from kgeval.metrics.metric import Undefined, or_reason
from kgeval.metrics.names import MetricName


class Scatter(NamedTuple):
    """How much a metric, or a difference, scatters over resampled units."""

    error: float
    """the standard error"""
    degrees: float
    """the degrees of freedom of Student's t"""
    fewest: int
    """the number of units, of the smaller class if these are triples"""

    @classmethod
    def of(cls, added: Float64Array, strata: IntArray, unit: Unit, what: str = "an interval") -> Scatter:
        """Measure the scatter of what each unit adds (float64[unit]), in each stratum (int64[unit]).

        The strata are the classes, false and true, if the units are triples; all relations are one stratum.

        >>> scatter = Scatter.of(np.tile([-0.01, 0.01], 50), np.repeat([0, 1], 50), "triple")
        >>> round(scatter.error, 6), scatter.degrees, scatter.fewest
        (0.101015, 98.0, 50)

        Raises
        ------
        NoInterval
            if there are too few units
        """
        counts = np.bincount(strata, minlength=2 if unit == "triple" else 1)
        if few := too_few(int(counts.min(initial=len(added))), unit, what):
            raise NoInterval(few.replace(";", " of one label;") if unit == "triple" else few)
        means = np.bincount(strata, added) / counts
        variances = counts / (counts - 1) * np.bincount(strata, (added - means[strata]) ** 2)
        total, squares = variances.sum(), (variances**2 / (counts - 1)).sum()
        return cls(float(np.sqrt(total)), float(total**2 / squares if squares else 1), int(counts.min()))


def added_by_units(name: MetricName, data: LabelPredictions, unit: Unit) -> tuple[Float64Array, IntArray]:
    """Compute what each unit adds to a metric, and its stratum; float64[unit], int64[unit].

    Relations in which the metric is undefined add 0 to a mean over relations.

    Raises
    ------
    NoInterval
        if the metric is not linearised, or a mean over relations is to be resampled by triples
    """
    compute: object = name.metric.compute
    relations, codes = np.unique(data.relations, return_inverse=True)
    one_stratum = np.zeros(len(relations), np.int64)
    if name.average:
        if unit == "triple":
            raise NoInterval("a mean over relations has one over relations alone: --intervals relation")
        parts = (or_reason(partial(name, data[codes == place])) for place in range(len(relations)))
        values = np.array([np.nan if isinstance(value, Undefined) else value for value in parts])
        known = ~np.isnan(values)
        refuse_few(int(known.sum()), unit)
        return np.where(known, values - values[known].mean(), 0) / known.sum(), one_stratum
    if not isinstance(compute, Linearised):
        raise NoInterval("it has no derivative by single triples")
    refuse_few(compute.weighed(data), "triple")
    added = compute.contributions(data)
    if unit == "triple":
        return added, data.truths.astype(np.int64)
    return np.asarray(np.bincount(codes, added), np.float64), one_stratum


def label_interval(
    name: MetricName, data: LabelPredictions, value: float, settings: Intervals
) -> Interval | NoInterval:
    """Make the interval of a metric, or say why there is none."""
    metric, level, unit = name.metric, settings.level, settings.unit
    try:
        added, strata = added_by_units(name, data, unit)
        scatter = Scatter.of(added, strata, unit)
        if is_rounding(scatter.error, value):
            ends = wilson(metric, value, scatter.fewest, level)
            return Interval(*ends, level, unit, len(added), "Wilson", scatter.error)
        method = "linearised, by class" if unit == "triple" else "linearised"
        about: Any = {"level": level, "unit": unit, "units": len(added), "method": method}
        return student_interval(metric, value, scatter[:2], logit=True, **about)
    except NoInterval as reason:
        return reason
