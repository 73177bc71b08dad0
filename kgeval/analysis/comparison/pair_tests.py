"""Pair tests: the differences of all pairs of models, a family of tests for each metric and group of rows.

``compare`` calls ``paired_differences`` for models of one run each. A :class:`SharedGroup` has the rows that all models
share. They are resampled by unit: a triple with the rows of both sides, or a query, relation or time. If a metric is a
function of means, the signs of the units' differences are flipped, else the metric is computed anew from swapped ranks.
``seed_differences.py`` has the tests of models with several runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from kgeval.analysis.comparison.adjustment import with_adjusted_p
from kgeval.analysis.comparison.comparable import SharedRows
from kgeval.analysis.comparison.paired_difference import (
    DifferenceOptions,
    PairedDifference,
    detectable_difference,
)
from kgeval.analysis.comparison.sign_flips import MOST_FLIPS, sign_flip_p_values, signed_sums, swapped_p_value
from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.progress import long_loop
from kgeval.data.triples import TARGETS
from kgeval.metrics.averages import numbered
from kgeval.metrics.intervals.interval import UNITS, ZERO, Interval, Intervals, NoInterval, Unit, is_rounding, too_few
from kgeval.metrics.intervals.mean_terms import MeanTerms, Units, mean_terms, standard_error
from kgeval.metrics.intervals.random_halves import MOST, RandomHalves
from kgeval.metrics.intervals.selection_intervals import UnitScatter, attempt, drawn_values, percentile_interval
from kgeval.metrics.kinds import Needs
from kgeval.metrics.metric import Metric, Undefined, or_reason
from kgeval.metrics.names import MetricName
from kgeval.metrics.selection import RowSelection, TableView


def paired_differences(
    groups: Sequence[SharedGroup], names: Sequence[MetricName], options: DifferenceOptions
) -> tuple[PairedDifference, ...]:
    """Test all pairs of models by all metrics in all groups of rows.

    P-values are adjusted for the pairs of models by one metric in one group: no further metric or group changes them.
    """
    found: list[PairedDifference] = []
    with long_loop("comparing", sum(len(options.pairs(group.views)) for group in groups), unit="pairs") as report:
        for group in map(replace, groups):  # copies, so that what they cache is freed after each group
            tests = _GroupTests(group, names, options)
            for model, other in options.pairs(group.views):
                found += tests.differences(model, other)
                report(1)
    return with_adjusted_p(found)


Contrast = tuple[PairedDifference, Float64Array | None]
"""a difference with its interval, and what each unit adds to it (float64[unit]); None if its signs are not flipped"""


@dataclass(frozen=True, eq=False)
class _GroupTests:
    """The tests of all pairs of models on one group of rows."""

    group: SharedGroup
    names: Sequence[MetricName]
    options: DifferenceOptions
    drawn: dict[tuple[str, MetricName], Float64Array] = field(default_factory=dict)
    """a cache: {(model, metric): its value in each draw of a bootstrap, float64[draw]}"""

    def differences(self, model: str, other: str) -> list[PairedDifference]:
        estimates = [self._estimate(model, other, name) for name in self.names]
        found = [difference for difference, _ in estimates]
        for unit in UNITS:
            tested = {
                place: of_units
                for place, (difference, of_units) in enumerate(estimates)
                if of_units is not None and difference.unit == unit
            }
            if tested:  # all have the same flips
                contributions, draws = np.stack([*tested.values()], axis=1), self.options.draws
                p_values = sign_flip_p_values(contributions, draws=draws, seed=self.options.seed).tolist()
                for place, p in zip(tested, p_values, strict=True):
                    found[place] = replace(found[place], p=p, draws=draws)
        return found

    def _estimate(self, model: str, other: str, name: MetricName) -> Contrast:
        side, needs = str(name.side), name.metric.needs
        rows, unit = len(self.group.rows[side]), self.group.units[needs, side].kind
        empty = PairedDifference(model, other, name, rows, 0, unit, self.group.key, level=self.options.level)
        own, others = (self._terms[one, name] for one in (model, other))
        for one, terms in ((model, own), (other, others)):
            if isinstance(terms, Undefined):
                return replace(empty, reason=f"it is undefined for {one}: {terms}"), None
        if isinstance(own, MeanTerms) and isinstance(others, MeanTerms):
            return self._contrast(own, others, empty)
        if needs == "lists":
            return replace(empty, reason="it is a function of lists, not of means over lists"), None
        return self._resampled(empty), None

    @cached_property
    def _terms(self) -> dict[tuple[str, MetricName], MeanTerms | Undefined | None]:
        """The terms whose means give the metric, by model and metric; ``None`` if it is no function of means."""
        each = product(self.group.views, self.names)
        return {(model, name): or_reason(partial(self.group.terms, model, name)) for model, name in each}

    def _resampled(self, empty: PairedDifference) -> PairedDifference:
        """Compute the metric anew in each draw: in a bootstrap for the interval, in sign flips for the p-value."""
        name, side, options = empty.metric, str(empty.metric.side), self.options
        units = Units.numbered(empty.unit, self.group.units["ranks", side].ids)
        found = empty
        try:
            own, others = (
                self.group.selections[model, side].ranks(name.ties, name.average)
                for model in (empty.model, empty.other)
            )
            values = np.array([name(own), name(others)])
            (difference,) = _without_rounding(values[:1] - values[1:], values).tolist()
            estimate = replace(empty, units=units.count, difference=difference)
            if few := too_few(units.count, empty.unit, "a test"):
                return replace(estimate, reason=few)
            of_own = self._drawn(empty.model, name, units)
            drawn = _without_rounding(of_own - self._drawn(empty.other, name, units), of_own)
            found, draws = estimate, min(options.draws, MOST_FLIPS)
            p = swapped_p_value(name, own, others, units, draws=draws, seed=options.seed)
            found, of_differences = replace(estimate, p=p, draws=draws), name.metric.of_differences
            interval = percentile_interval(of_differences, difference, drawn, level=options.level, units=units)
        except (Undefined, NoInterval) as reason:
            return replace(found, reason=str(reason))
        detectable = detectable_difference(interval.standard_error, level=options.level)
        return replace(found, interval=interval, detectable=detectable)

    def _drawn(self, model: str, name: MetricName, units: Units) -> Float64Array:
        """Compute a model's metric in each draw of a bootstrap, with the same units for all models; float64[draw]."""
        if (model, name) not in self.drawn:
            selection, options = self.group.selections[model, str(name.side)], self.options
            intervals = Intervals(unit=options.unit, level=options.level, seed=options.seed % 2**64)
            self.drawn[model, name] = drawn_values(name, selection, units, intervals=intervals)
        return self.drawn[model, name]

    def _contrast(self, own: MeanTerms, others: MeanTerms, empty: PairedDifference) -> Contrast:
        shares = shares_of_units(own, others)
        units, largest = int((shares > 0).sum()), float(shares.max(initial=0))
        estimate = replace(empty, units=units, largest=largest, difference=own.value - others.value)
        if few := too_few(units, empty.unit, "a test"):
            return replace(estimate, reason=few), None
        of_units = differences_of_units(own, others)
        if not of_units.any():
            return replace(estimate, difference=0.0, reason=f"no {empty.unit} differs"), of_units
        interval = attempt(partial(interval_of_difference, own, others, empty.metric.metric, self.options))
        if isinstance(interval, NoInterval):
            return replace(estimate, reason=str(interval)), of_units
        error, level = interval.standard_error, self.options.level
        detectable = detectable_difference(error, level=level) if error else None
        return replace(estimate, interval=interval, detectable=detectable), of_units


def shares_of_units(own: MeanTerms, others: MeanTerms) -> Float64Array:
    """Compute the share of each unit in the weights, as the mean of both models; float64[unit]."""
    return np.asarray((own.unit_shares + others.unit_shares) / 2, np.float64)


def differences_of_units(own: MeanTerms, others: MeanTerms) -> Float64Array:
    """Compute what each unit adds to the difference of two models; float64[unit]. The test flips these signs."""
    # Under the hypothesis the models are exchangeable, so that gradients are taken at the middle of both.
    middle = (own.means + others.means) / 2
    of_own, of_others = (terms.gradient_at(middle) @ terms.unit_sums for terms in (own, others))
    return _without_rounding(of_own - of_others, of_own)


def interval_of_difference(own: MeanTerms, others: MeanTerms, metric: Metric, options: DifferenceOptions) -> Interval:
    """Make the interval of a difference, whose range is twice that of the metric.

    Over relations and times, whose sizes differ, it has the differences that the sign-flip test does not reject: random
    halves, from the same signs. For a mean, it leaves out 0 exactly where p is at most 1 − level; for a function of
    means, nearly.

    Raises
    ------
    NoInterval
        if there is no interval; the message says why
    """
    unit, shares, deviations = own.units.kind, shares_of_units(own, others), own.deviations - others.deviations
    error = standard_error(deviations[shares > 0])
    if is_rounding(error, own.value):  # all units differ alike
        error = 0.0
    most = 0.0 if unit in ("relation", "time") else MOST
    scatter = UnitScatter(
        unit,
        np.array([error]),
        np.array([(shares > 0).sum()]),
        np.array([1 / (own.unit_shares**2).sum()]),
        halves=RandomHalves(deviations, shares, np.zeros_like(shares, np.int64), signed_sums, most),
    )
    draws = {"draws": max(options.draws, 100), "seed": options.seed % 2**64}  # those of the sign-flip test
    settings = Intervals(unit=unit, level=options.level, **draws)
    interval = scatter.interval(metric.of_differences, own.value - others.value, settings)
    ends = np.array([interval.low, interval.high])
    low, high = _without_rounding(ends, ends).tolist()
    return replace(interval, low=low, high=high)


def _without_rounding(differences: Float64Array, values: Float64Array) -> Float64Array:
    """Set to 0 the differences of values that are equal but for the rounding of sums in another order."""
    return np.where(np.abs(differences) <= ZERO * np.abs(values).max(initial=0), 0, differences)


@dataclass(frozen=True, eq=False)
class SharedGroup:
    """A group of the rows that all models share, and where each model's table has them."""

    views: Mapping[str, TableView]
    """the table of each model, or of each run of the models"""
    same: SharedRows
    """all rows that the tables share"""
    unit: Unit
    places: IntArray
    """the group's rows, as indices into ``same``; int64[row]"""
    key: Mapping[str, Any]
    """the value of these rows in each column of ``by``; empty for all rows"""

    @cached_property
    def rows(self) -> dict[str, IntArray]:
        """The group's rows of each side and of both, as indices into ``same``: {side: int64[row]}."""
        sides = self.same.sides[self.places]
        of_entities = sides != TARGETS.index("relation")
        return {
            **{side: self.places[sides == number] for number, side in enumerate(TARGETS)},
            "both": self.places[of_entities] if of_entities.any() else self.places,
        }

    @cached_property
    def selections(self) -> dict[tuple[str, str], RowSelection]:
        """The rows of each side in the table of each model: {(model, side): selection}."""
        rows = self.same.rows
        return {
            (model, side): RowSelection(view, rows[model][places])
            for model, view in self.views.items()
            for side, places in self.rows.items()
        }

    @cached_property
    def units(self) -> dict[tuple[Needs, str], Units]:
        """The unit of each row of a side. Units have the same numbers on all sides, so that some may have no row.

        A list (the ranks of all answers to one query) is drawn as a whole: metrics of lists draw queries, not triples.
        """
        found: dict[tuple[Needs, str], Units] = {}
        kinds: dict[Needs, Unit] = {"ranks": self.unit, "lists": "query" if self.unit == "triple" else self.unit}
        for needs, kind in kinds.items():
            of_row = np.zeros_like(keys := self.same.keys(kind))
            distinct, of_row[self.places] = numbered(keys[self.places])
            for side, places in self.rows.items():
                found[needs, side] = Units(kind, of_row[places], len(distinct))
        return found

    def terms(self, model: str, name: MetricName) -> MeanTerms | None:
        """Take the terms whose means give a model's metric; ``None`` if it is no function of means."""
        return mean_terms(name, self.selections[model, str(name.side)], self.units_of(model, name))

    def units_of(self, model: str, name: MetricName) -> Units:
        """Find the unit of each row of a metric's side in a model's table; for metrics of lists, of each list."""
        needs, side = name.metric.needs, str(name.side)
        units, selection = self.units[needs, side], self.selections[model, side]
        return units if needs == "ranks" else replace(units, ids=selection.of_lists(units.ids))
