"""Seed differences: how much the means over seeds of several models differ, and the tests of these means.

``compare`` calls ``differences_over_seeds`` where models have several runs.

A model's metric is its mean over its runs. Both the runs and the triples count as samples: runs for each model by
itself, as seed 0 of one model has nothing to do with seed 0 of another; triples for all models at once. The variance
and the degrees of freedom are computed by :mod:`kgeval.metrics.intervals.over_seeds`; p = P(|t| ≥ |difference| /
standard error).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kgeval.analysis.comparison.adjustment import with_adjusted_p
from kgeval.analysis.comparison.pair_tests import SharedGroup
from kgeval.analysis.comparison.paired_difference import (
    POWER,
    DifferenceOptions,
    PairedDifference,
)
from kgeval.base.arrays import Float64Array
from kgeval.metrics.intervals.interval import FEWEST_SEEDS, Intervals, NoInterval, too_few_seeds
from kgeval.metrics.intervals.mean_terms import Units
from kgeval.metrics.intervals.over_seeds import STUDENT, covariance_of_runs, error_of_means, error_over_seeds
from kgeval.metrics.intervals.selection_intervals import student_interval, student_p, t_quantile
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName
from kgeval.metrics.selection import RowSelection

MOST_SEEDS = 10**6
"""the most seeds that are tried; if more are needed, no number is enough"""


def differences_over_seeds(
    groups: Sequence[SharedGroup],
    keys: Mapping[str, Sequence[str]],
    names: Sequence[MetricName],
    options: DifferenceOptions,
    baselines: Collection[str],
) -> tuple[PairedDifference, ...]:
    """Test all pairs of models by all metrics in all groups of rows; ``keys`` has the names of each model's runs."""
    pairs = []
    for group in map(replace, groups):  # copies, so that what they cache is freed after each group
        tests = [_MetricTests(name, group, keys, options, baselines) for name in names]
        pairs += [test.difference(*pair) for pair in options.pairs(keys) for test in tests]
    return with_adjusted_p(pairs)


@dataclass(frozen=True, eq=False)
class _MetricTests:
    """The differences of models by one metric."""

    name: MetricName
    group: SharedGroup
    """the rows that all runs share"""
    keys: Mapping[str, Sequence[str]]
    """the names of each model's runs in the group"""
    options: DifferenceOptions
    baselines: Collection[str]
    """the models without random training, which may have one run"""

    def difference(self, model: str, other: str) -> PairedDifference:
        name, side = self.name, str(self.name.side)
        rows, kind = len(self.group.rows[side]), self.group.units[name.metric.needs, side].kind
        level, key = self.options.level, self.group.key
        pair = PairedDifference(model, other, name, rows, 0, kind, key, level=level, over_seeds=True)
        values, other_values = (self._values[one] for one in (model, other))
        if isinstance(values, str) or isinstance(other_values, str):
            return replace(pair, reason=values if isinstance(values, str) else str(other_values))
        pair = replace(pair, difference=float(np.mean(values) - np.mean(other_values)))
        if few := self._too_few(model) or self._too_few(other):
            return replace(pair, reason=few)
        if len(values) == len(other_values) == 1:
            return replace(pair, reason="neither model has several seeds")
        try:
            return self._tested(pair, values, other_values)
        except (NoInterval, Undefined) as reason:
            return replace(pair, reason=str(reason))

    def _tested(self, pair: PairedDifference, values: Float64Array, other_values: Float64Array) -> PairedDifference:
        """Add to a difference its interval, p-value, detectable difference and the number of seeds it needs."""
        places, covariance, units = self._covariance
        runs = [places[key] for model in (pair.model, pair.other) for key in self.keys[model]]
        spread = error, degrees = error_over_seeds([values, other_values], covariance[np.ix_(runs, runs)], units)
        difference, level = float(values.mean() - other_values.mean()), self.options.level
        metric = self.name.metric.of_differences
        about: Any = {"level": level, "unit": pair.resampled, "units": units, "method": STUDENT}
        interval = student_interval(metric, difference, spread, **about)
        p = student_p(difference, error, degrees)
        detectable = detectable_over_seeds(error, degrees, level)
        variances = np.array([np.var(of, ddof=1) if len(of) > 1 else 0.0 for of in (values, other_values)])
        of_units = error**2 - sum(variances / (len(values), len(other_values)))
        needed = seeds_needed(difference, variances, max(of_units, 0.0), units, level)
        found = replace(pair, units=units, interval=interval, p=p, detectable=detectable, degrees=degrees)
        return replace(found, seeds_needed=needed)

    def _too_few(self, model: str) -> str:
        """Say that a model has too few runs to be tested; empty if it has enough, or needs no seeds."""
        few = too_few_seeds(count := len(self.keys[model]))
        return f"{model} has {few}" if few and (count > 1 or model not in self.baselines) else ""

    @cached_property
    def _values(self) -> dict[str, Float64Array | str]:
        """The metric of each model's runs (float64[run]), or the reason why it is undefined."""
        values: dict[str, Float64Array | str] = {}
        for model, keys in self.keys.items():
            try:
                values[model] = np.array([self._selection(key).value(self.name) for key in keys])
            except Undefined as reason:
                values[model] = f"it is undefined for {model}: {reason}"
        return values

    @cached_property
    def _covariance(self) -> tuple[dict[str, int], Float64Array, int]:
        """The place of each tested run in the covariance, the covariance (float64[run, run]), the number of units."""
        tested = [
            model for model, values in self._values.items() if not (isinstance(values, str) or self._too_few(model))
        ]
        keys, options = [key for model in tested for key in self.keys[model]], self.options
        settings = Intervals(unit=options.unit, level=options.level, seed=options.seed % 2**64)
        selections = [self._selection(key) for key in keys]
        units = [Units.numbered(of.kind, of.ids) for of in (self.group.units_of(key, self.name) for key in keys)]
        covariance, count = covariance_of_runs(self.name, selections, units, settings)
        return {key: place for place, key in enumerate(keys)}, covariance, count

    def _selection(self, key: str) -> RowSelection:
        return self.group.selections[key, str(self.name.side)]


def seeds_needed(difference: float, variances: Float64Array, of_units: float, units: int, level: float) -> float | None:
    """Find the least number of seeds of each model with which a difference is detectable; infinite if there is none.

    ``variances`` has the variance of each model's runs, float64[2]; ``of_units`` is the variance that the units of the
    test set cause. The result is ``None`` if all runs of a model are equal, or the difference is 0.
    """

    def is_seen(seeds: int) -> bool:
        error = error_of_means(variances, np.full(2, seeds), of_units, units)
        return detectable_over_seeds(*error, level) <= abs(difference)

    if not difference or not variances.any():
        return None
    numbers = range(FEWEST_SEEDS, MOST_SEEDS)
    place = bisect_left(numbers, 1, key=is_seen)
    return float(numbers[place]) if place < len(numbers) else float("inf")


def detectable_over_seeds(error: float, degrees: float, level: float) -> float:
    """Compute the true difference that Student's t test finds significant in 4 of 5 repetitions."""
    from scipy.special import nctdtrinc

    return float(nctdtrinc(degrees, 1 - POWER, t_quantile(degrees, level))) * error
