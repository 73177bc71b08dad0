"""Seed differences: how much models differ that were trained with several seeds, and whether other seeds would differ.

A model's metric is its mean over its runs. Both the runs and the triples are drawn again: runs for each model by
itself, for seed 0 of one has nothing to do with seed 0 of another; triples for all models at once. The variance and the
degrees of freedom are those of :mod:`kgeval.metrics.intervals.over_seeds`; p = P(|t| ≥ |difference| / standard error).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations

import numpy as np

from kgeval.analysis.comparison.comparable import allowed_fields, differing_fields, same_rows
from kgeval.analysis.comparison.pair_tests import SharedGroup
from kgeval.analysis.comparison.paired_difference import (
    DEFAULT_DIFFERENCES,
    POWER,
    DifferenceOptions,
    PairedDifference,
)
from kgeval.analysis.comparison.sign_flips import holm
from kgeval.arrays import Float64Array
from kgeval.errors import MetricError, did_you_mean
from kgeval.metrics.intervals.interval import Intervals, NoInterval
from kgeval.metrics.intervals.mean_terms import Units
from kgeval.metrics.intervals.over_seeds import (
    covariance_of_runs,
    error_over_seeds,
    student_interval,
    too_few_seeds,
)
from kgeval.metrics.intervals.selection_intervals import t_quantile
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName, parse
from kgeval.metrics.selection import DEFAULT_OPTIONS, MetricOptions, TableView, refuse_other_tables
from kgeval.ranking.rank_table import RankTable


def seed_differences(
    runs: Mapping[str, Sequence[RankTable]],
    metrics: Sequence[str | MetricName],
    *,
    options: DifferenceOptions = DEFAULT_DIFFERENCES,
    metric_options: MetricOptions = DEFAULT_OPTIONS,
    baselines: Collection[str] = (),
    allow: str | Collection[str] = (),
) -> tuple[PairedDifference, ...]:
    """Compare models over their training runs and the triples: which is better, had it been trained and tested anew.

    Each pair of models has, by each metric, the difference of the means over the runs; its interval; the p-value of
    Student's t, adjusted for the pairs of models that are tested by this metric (Holm, 1979); and the least difference
    that would be seen on 4 of 5 draws of seeds and test sets.

    Parameters
    ----------
    runs
        the ranks of each run of each model, by the models' names: at least three of a model that is trained
    metrics
        their names; a metric that says nothing about quality, such as ``count``, is left out
    options
        the unit that is drawn again beside the seeds, the level, the model that all others are compared with;
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
    >>> pair.drawn_again, pair.units, pair.verdict
    ('seed × triple', 201, 'no difference seen (less than ± 0.067)')
    """
    _refuse_other_runs(runs, options.reference)
    flat = {
        f"{model}, run {number}" if len(tables) > 1 else model: table
        for model, tables in runs.items()
        for number, table in enumerate(tables, 1)
    }
    same = same_rows(flat)
    differing_fields(flat, same, {key: table.provenance for key, table in flat.items()}, allowed_fields(allow))
    views = {key: TableView(table, metric_options) for key, table in flat.items()}
    group = SharedGroup(views, same, np.arange(len(same)), options.unit)
    pooled = next(iter(views.values())).pooled
    names = [(one if isinstance(one, MetricName) else parse(one)).of_part(pooled) for one in metrics]
    keys = iter(flat)
    of_models = {model: [next(keys) for _ in tables] for model, tables in runs.items()}
    by_metric = [
        _adjusted(_TestsOfMetric(name, group, of_models, options, frozenset(baselines)).differences())
        for name in names
        if name.metric.increasing is not None
    ]
    return tuple(chain.from_iterable(zip(*by_metric, strict=True)))


def _adjusted(family: Sequence[PairedDifference]) -> list[PairedDifference]:
    """Adjust the p-values of the pairs that are tested by one metric for how many these are (Holm, 1979)."""
    adjusted = iter(holm(p_values := np.array([pair.p for pair in family if pair.p is not None])).tolist())
    count = len(p_values)
    return [pair if pair.p is None else replace(pair, adjusted_p=next(adjusted), family=count) for pair in family]


@dataclass(frozen=True, eq=False)
class _TestsOfMetric:
    """The differences of all pairs of models by one metric."""

    name: MetricName
    group: SharedGroup
    of_models: Mapping[str, Sequence[str]]
    """the keys of each model's runs in the group"""
    options: DifferenceOptions
    baselines: Collection[str]

    def differences(self) -> list[PairedDifference]:
        reference = self.options.reference
        others = [model for model in self.of_models if model != reference]
        pairs = combinations(others, 2) if reference is None else ((model, reference) for model in others)
        return [self._difference(model, other) for model, other in pairs]

    def _difference(self, model: str, other: str) -> PairedDifference:
        name, units = self.name, self._units[self.of_models[model][0]]
        rows, level = len(self.group.rows[str(name.side)]), self.options.level
        found = PairedDifference(model, other, name, rows, units.count, units.kind, level=level, over_seeds=True)
        values = [self._values[one] for one in (model, other)]
        if undefined := [str(one) for one in values if isinstance(one, Undefined)]:
            return replace(found, reason=undefined[0])
        own, others = (np.asarray(one) for one in values)
        found = replace(found, difference=float(own.mean() - others.mean()))
        if few := self._too_few(model) or self._too_few(other):
            return replace(found, reason=few)
        if len(own) == len(others) == 1:
            return replace(found, reason="neither has seeds, so nothing is tested over seeds")
        try:
            return self._tested(found, own, others)
        except (NoInterval, Undefined) as reason:
            return replace(found, reason=str(reason))

    def _tested(self, found: PairedDifference, own: Float64Array, others: Float64Array) -> PairedDifference:
        """Add the interval of a difference, whose range is twice that of the metric, and its p-value."""
        from scipy.special import nctdtrinc, stdtr

        places, covariance, units = self._covariance
        runs = [places[key] for model in (found.model, found.other) for key in self.of_models[model]]
        spread = error, degrees = error_over_seeds([own, others], covariance[np.ix_(runs, runs)], units)
        difference, level, metric = float(own.mean() - others.mean()), self.options.level, self.name.metric
        reach = metric.highest - metric.lowest
        metric = replace(metric, lowest=-reach, highest=reach)
        interval = student_interval(metric, difference, spread, level=level, unit=found.drawn_again, units=units)
        p = float(2 * stdtr(degrees, -abs(difference) / error))
        detectable = float(nctdtrinc(degrees, 1 - POWER, t_quantile(degrees, level))) * error
        return replace(found, units=units, interval=interval, p=p, detectable=detectable)

    def _too_few(self, model: str) -> str:
        """Say that a model has too few runs to be tested; empty where it has enough, or draws nothing."""
        count = len(self.of_models[model])
        few = "" if count == 1 and model in self.baselines else too_few_seeds(count)
        return f"{model} has {few}" if few else ""

    @cached_property
    def _units(self) -> dict[str, Units]:
        """The unit of each row, or list, of each run, the same units in all."""
        name, found = self.name, {}
        of_rows = self.group.units[name.metric.needs, str(name.side)]
        for key in chain.from_iterable(self.of_models.values()):
            selection = self.group.selections[key, str(name.side)]
            ids = selection.of_lists(of_rows.ids) if name.metric.needs == "lists" else of_rows.ids
            found[key] = Units.numbered(of_rows.kind, ids)
        return found

    @cached_property
    def _values(self) -> dict[str, Float64Array | Undefined]:
        """The metric of each model's runs."""
        found: dict[str, Float64Array | Undefined] = {}
        for model, keys in self.of_models.items():
            selections = [self.group.selections[key, str(self.name.side)] for key in keys]
            try:
                found[model] = np.array([self.name(one.data(self.name)) for one in selections])
            except Undefined as reason:
                found[model] = Undefined(f"it is undefined for {model}: {reason}")
        return found

    @cached_property
    def _covariance(self) -> tuple[dict[str, int], Float64Array, int]:
        """The covariance of all runs that are tested, with the place of each in it, and the number of units."""
        tested = [model for model, values in self._values.items() if not isinstance(values, Undefined)]
        keys = [key for model in tested if not self._too_few(model) for key in self.of_models[model]]
        selections = [self.group.selections[key, str(self.name.side)] for key in keys]
        options, units = self.options, [self._units[key] for key in keys]
        intervals = Intervals(unit=options.unit, level=options.level, seed=options.seed % 2**64)
        return {key: place for place, key in enumerate(keys)}, *covariance_of_runs(
            self.name, selections, units, intervals
        )


def _refuse_other_runs(runs: Mapping[str, Sequence[RankTable]], reference: str | None) -> None:
    for model, tables in runs.items():
        if not tables:
            raise MetricError(f"{model} has no run: give the ranks of each, as in {{{model!r}: [seed_0, seed_1]}}.")
        for table in tables:
            refuse_other_tables(table)
    if len(runs) < 2:
        raise MetricError(f"nothing to compare {' '.join(runs) or 'with'}: give at least two models.")
    if reference is not None and reference not in runs:
        raise MetricError(f"reference: no model is called {reference!r}. {did_you_mean(reference, list(runs))}")
