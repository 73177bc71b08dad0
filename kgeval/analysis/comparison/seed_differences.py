"""Seed differences: how much the means over seeds of several models differ, and the tests of these means.

``seed_differences`` is the public call; ``compare_grid`` calls ``differences_over_seeds`` for groups of rows.

A model's metric is its mean over its runs. Both the runs and the triples are resampled: runs for each model by
itself, for seed 0 of one has nothing to do with seed 0 of another; triples for all models at once. The variance and the
degrees of freedom are those of :mod:`kgeval.metrics.intervals.over_seeds`; p = P(|t| ≥ |difference| / standard error).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kgeval.analysis.comparison.comparable import allowed_fields, differing_fields, shared_rows
from kgeval.analysis.comparison.pair_tests import SharedGroup
from kgeval.analysis.comparison.paired_difference import (
    DEFAULT_DIFFERENCES,
    POWER,
    DifferenceOptions,
    PairedDifference,
    with_adjusted_p,
)
from kgeval.base.arrays import Float64Array
from kgeval.base.errors import MetricError, refuse_unknown
from kgeval.metrics.intervals.interval import FEWEST_SEEDS, Intervals, NoInterval, too_few_seeds
from kgeval.metrics.intervals.mean_terms import Units
from kgeval.metrics.intervals.over_seeds import STUDENT, covariance_of_runs, error_of_means, error_over_seeds
from kgeval.metrics.intervals.selection_intervals import student_interval, student_p, t_quantile
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName, parse_all
from kgeval.metrics.selection import DEFAULT_OPTIONS, MetricOptions, RowSelection, TableView, refuse_other_tables
from kgeval.ranking.rank_table import RankTable

MOST_SEEDS = 10**6
"""the most seeds that are tried; if more are needed, no number is enough"""


def seed_differences(
    runs: Mapping[str, Sequence[RankTable]],
    metrics: str | Sequence[str],
    *,
    options: DifferenceOptions = DEFAULT_DIFFERENCES,
    metric_options: MetricOptions = DEFAULT_OPTIONS,
    baselines: Collection[str] = (),
    allow: str | Collection[str] = (),
) -> tuple[PairedDifference, ...]:
    """Compare models over their training runs and the triples: which is better, had it been trained and tested anew.

    Each pair of models has, by each metric, the difference of the means over the runs; its interval; the p-value of
    Student's t, adjusted for the pairs of models that are tested by this metric (Holm, 1979); and the least difference
    that would be seen on 4 of 5 draws of seeds and test sets. The variance of a difference is s₁²/R₁ + s₂²/R₂ + c₁₁ +
    c₂₂ − 2 c₁₂ (Obuchowski and Rockette, 1995), of R runs whose values have the variance s², and c the mean covariance
    of a run of one model and another run of the same, or of the other, when the triples are resampled.

    Parameters
    ----------
    runs
        the ranks of each run of each model, by the models' names: at least three of a model that is trained
    metrics
        their names; a metric that says nothing about quality, such as ``count``, is left out
    options
        the unit that is resampled besides the seeds, the level, the model that all others are compared with;
        ``draws`` are of no use here
    metric_options
        ties and the conventions of adjusted and stratified metrics
    baselines
        the models that have one run because they draw nothing, so that another seed would give the same ranks
    allow
        how the ranks may differ nevertheless, as :func:`kgeval.compare` takes it; with ``"triples"`` the rows that all
        runs have are compared

    Raises
    ------
    MetricError
        if there is no other model to compare with, a model has no run, or the reference is unknown; if the runs rank
        other triples and sides, or by another protocol, filter or choice of candidates, with what differs

    Examples
    --------
    >>> from kgeval import evaluate
    >>> def run(*numbers):
    ...     return [evaluate(lambda h, r, t, n=n: (h * n + t * 7 + r) % 11, "nations") for n in numbers]
    >>> (pair,) = seed_differences({"a": run(29, 31, 37), "b": run(23, 41, 43, 47)}, ["mrr"])
    >>> pair.resampled, pair.units, pair.verdict
    ('seed × triple', 201, 'no significant difference (detectable: 0.067)')
    """
    _refuse_other_runs(runs, options.reference)
    keys = {model: [f"{model}, run {number}" for number in range(1, 1 + len(runs[model]))] for model in runs}
    tables = {key: table for model in runs for key, table in zip(keys[model], runs[model], strict=True)}
    same = shared_rows(tables)
    differing_fields(tables, same, allowed_fields(allow))
    views = {key: TableView(table, metric_options) for key, table in tables.items()}
    pooled = next(iter(views.values())).pooled
    names = [name.of_part(pooled) for name in parse_all(metrics) if name.metric.increasing is not None]
    group = SharedGroup(views, same, options.unit, np.arange(len(same)), {})
    return differences_over_seeds([group], keys, names, options, baselines)


def _refuse_other_runs(runs: Mapping[str, Sequence[RankTable]], reference: str | None) -> None:
    for model, tables in runs.items():
        if not tables:
            raise MetricError(f"{model} has no run: give the ranks of each, as in {{{model!r}: [seed_0, seed_1]}}.")
        refuse_other_tables(tables)
    if len(runs) < 2:
        raise MetricError(f"nothing to compare: give the runs of at least two models, found {len(runs)}.")
    if reference is not None:
        refuse_unknown("reference: no model is called", reference, runs, MetricError)


def differences_over_seeds(
    groups: Sequence[SharedGroup],
    keys: Mapping[str, Sequence[str]],
    names: Sequence[MetricName],
    options: DifferenceOptions,
    baselines: Collection[str],
) -> tuple[PairedDifference, ...]:
    """Test all pairs of models by all metrics in all groups of rows; ``keys`` has the names of each model's runs."""
    pairs = []
    for group in map(replace, groups):  # copies, freed with all that was computed of their rows
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
        """Add the interval of a difference, whose range is twice that of the metric, and its p-value."""
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
        """The metric of each model's runs, or why it is undefined."""
        values: dict[str, Float64Array | str] = {}
        for model, keys in self.keys.items():
            try:
                values[model] = np.array([self._selection(key).value(self.name) for key in keys])
            except Undefined as reason:
                values[model] = f"it is undefined for {model}: {reason}"
        return values

    @cached_property
    def _covariance(self) -> tuple[dict[str, int], Float64Array, int]:
        """The covariance of all runs that are tested, with the place of each in it, and the number of units."""
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
    """Compute the difference that Student's t test sees in 4 of 5 repetitions."""
    from scipy.special import nctdtrinc

    return float(nctdtrinc(degrees, 1 - POWER, t_quantile(degrees, level))) * error
