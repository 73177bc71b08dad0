"""Pair tests: the differences of all pairs of models, a family of tests for each metric and group of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

from kgeval.analysis.comparison.comparable import SameRows
from kgeval.analysis.comparison.paired_difference import DifferenceOptions, PairedDifference, detectable_difference
from kgeval.analysis.comparison.sign_flips import holm, sign_flip_p_values
from kgeval.analysis.comparison.unit_contributions import (
    SharedSelection,
    resampled,
    unit_of_lists,
)
from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.triples import TARGETS
from kgeval.metrics.intervals.bootstrap import drawn_values
from kgeval.metrics.intervals.interval import FEWEST_UNITS, PLURAL, ZERO, Intervals, NoInterval, Unit, is_rounding
from kgeval.metrics.intervals.linearised import UnitScatter
from kgeval.metrics.intervals.mean_terms import MeanTerms, standard_error
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName
from kgeval.metrics.selection import TableView
from kgeval.progress import long_loop

NO_MEANS = "it is no function of means over rows"


def paired_differences(
    views: Mapping[str, TableView],
    names: Sequence[MetricName],
    same: SameRows,
    groups: Iterable[tuple[Mapping[str, Any], IntArray]],
    options: DifferenceOptions,
) -> tuple[PairedDifference, ...]:
    """Test all pairs of models by all metrics in all groups of rows.

    The pairs are one family by each metric in each group: no further metric, and no further group, changes a p-value.
    Each group is what its rows have in common, and their places among the shared rows.
    """
    of_groups, found, reference = list(groups), [], options.reference
    others = [model for model in views if model != reference]
    pairs = list(combinations(views, 2)) if reference is None else [(model, reference) for model in others]
    with long_loop("comparing", len(pairs) * len(of_groups), unit="pairs") as report:
        for key, places in of_groups:
            tests = _GroupTests(views, names, same, places, key, options)
            for model, other in pairs:
                found += tests.differences(model, other)
                report(1)
    families: dict[tuple[MetricName, int], list[int]] = {}
    for place, difference in enumerate(found):
        if difference.p is not None:
            families.setdefault((difference.metric, place // (len(pairs) * len(names))), []).append(place)
    for family in families.values():
        adjusted = holm(np.array([found[place].p for place in family], np.float64))
        for place, p in zip(family, adjusted.tolist(), strict=True):
            found[place] = replace(found[place], adjusted_p=p, family=len(family))
    return tuple(found)


OfUnits = tuple[IntArray, Float64Array]
"""the numbers of some units, and what each adds to a difference; int64[unit], float64[unit]"""


@dataclass(frozen=True, eq=False)
class _GroupTests:
    views: Mapping[str, TableView]
    names: Sequence[MetricName]
    same: SameRows
    places: IntArray
    """int64[row], into the shared rows"""
    key: Mapping[str, Any]
    options: DifferenceOptions
    drawn: dict[tuple[str, MetricName], Float64Array] = field(default_factory=dict)
    """the metrics of models in the draws of a bootstrap, as far as they were needed"""

    def differences(self, model: str, other: str) -> list[PairedDifference]:
        found: list[PairedDifference] = []
        tested: dict[Unit, dict[int, OfUnits]] = {}
        for place, name in enumerate(self.names):
            difference, of_units = self._estimate(model, other, name)
            found.append(difference)
            if of_units is not None:
                tested.setdefault(difference.unit, {})[place] = of_units
        for unit, of_metrics in tested.items():
            p_values = self._p_values(unit, [*of_metrics.values()]).tolist()
            for place, p in zip(of_metrics, p_values, strict=True):
                found[place] = replace(found[place], p=p, draws=self.options.draws)
        return found

    def _p_values(self, unit: Unit, of_metrics: Sequence[OfUnits]) -> Float64Array:
        """Test the differences by metrics of one unit together: all have the same flips; float64[metric]."""
        present = np.bincount(self.same.keys(unit)[self.places]) > 0
        places = np.cumsum(present) - 1
        contributions = np.zeros((int(present.sum()), len(of_metrics)))
        for column, (numbers, of_units) in enumerate(of_metrics):
            contributions[places[numbers], column] = of_units
        return sign_flip_p_values(contributions, draws=self.options.draws, seed=self.options.seed)

    def _estimate(self, model: str, other: str, name: MetricName) -> tuple[PairedDifference, OfUnits | None]:
        """Estimate a difference with its interval, and what each unit adds to it, where that can be tested."""
        unit = unit_of_lists(self.options.unit) if name.metric.needs == "lists" else self.options.unit
        rows = len(self._selections[model, str(name.side)].places)
        empty = PairedDifference(model, other, name, rows, 0, unit, self.key, level=self.options.level)
        own, others = (self._contributions[one, name] for one in (model, other))
        if own == NO_MEANS:
            return self._resampled(empty), None
        if isinstance(own, str) or isinstance(others, str):
            return replace(empty, reason=own if isinstance(own, str) else str(others)), None
        (terms, numbers), (other_terms, _) = own, others
        return _contrast(terms, other_terms, numbers, empty)

    def _resampled(self, empty: PairedDifference) -> PairedDifference:
        name, side = empty.metric, str(empty.metric.side)
        own, others = (self._selections[model, side] for model in (empty.model, empty.other))
        if name.metric.needs == "lists":
            return replace(empty, reason="it is a function of lists, and not of means over them")
        try:
            values = [name(one.rows.ranks(name.ties, name.average)) for one in (own, others)]
            units, _ = own.units_of_ranks
            (difference,) = _without_rounding(np.array([values[0] - values[1]]), np.array(values))
            estimate = replace(empty, units=units.count, difference=float(difference))
            if units.count < FEWEST_UNITS:
                return replace(estimate, reason=_few(units.count, empty.unit))
            of_own = self._drawn(empty.model, name)
            drawn = _without_rounding(of_own - self._drawn(empty.other, name), of_own)
        except (Undefined, NoInterval) as reason:
            return replace(empty, reason=str(reason))
        return resampled(own, others, estimate, drawn, self.options)

    def _drawn(self, model: str, name: MetricName) -> Float64Array:
        """A metric of a model in each draw of a bootstrap, whose units are the same for all models; float64[draw]."""
        if (model, name) not in self.drawn:
            selection, options = self._selections[model, str(name.side)], self.options
            intervals = Intervals(unit=options.unit, level=options.level, seed=options.seed % 2**64)
            units, _ = selection.units_of_ranks
            self.drawn[model, name] = drawn_values(name, selection.rows, units, intervals=intervals)
        return self.drawn[model, name]

    @cached_property
    def _selections(self) -> dict[tuple[str, str], SharedSelection]:
        sides = self.same.sides[self.places]
        parts: dict[str, IntArray] = {side: self.places[sides == place] for place, side in enumerate(TARGETS)}
        of_entities = sides != TARGETS.index("relation")
        parts["both"] = self.places[of_entities] if of_entities.any() else self.places
        return {
            (model, side): SharedSelection(self.same, model, view, places, self.options.unit)
            for model, view in self.views.items()
            for side, places in parts.items()
        }

    @cached_property
    def _contributions(self) -> dict[tuple[str, MetricName], tuple[MeanTerms, IntArray] | str]:
        """What the units contribute, for each model and metric, or why that is not known."""
        found: dict[tuple[str, MetricName], tuple[MeanTerms, IntArray] | str] = {}
        for model, name in product(self.views, self.names):
            try:
                found[model, name] = self._selections[model, str(name.side)].contributions(name) or NO_MEANS
            except Undefined as reason:
                found[model, name] = f"it is undefined for {model}: {reason}"
        return found


def _contrast(
    own: MeanTerms, others: MeanTerms, numbers: IntArray, empty: PairedDifference
) -> tuple[PairedDifference, OfUnits | None]:
    weighed = (own.unit_shares > 0) | (others.unit_shares > 0)
    estimate = replace(empty, units=int(weighed.sum()), difference=own.value - others.value)
    if estimate.units < FEWEST_UNITS:
        return replace(estimate, reason=_few(estimate.units, empty.unit)), None
    # The flips exchange both models, of which neither is nearer to the hypothesis: the middle of both is.
    middle = (own.means + others.means) / 2
    # How much each unit's sums are of the metric, to first order there; float64[unit].
    of_own, of_others = (terms.gradient_at(middle) @ terms.unit_sums for terms in (own, others))
    of_units = _without_rounding(of_own - of_others, of_own)
    if not of_units.any():
        return replace(estimate, difference=0.0, reason="no unit differs"), (numbers, of_units)
    return _with_interval(estimate, own, others, weighed), (numbers, of_units)


def _with_interval(
    estimate: PairedDifference, own: MeanTerms, others: MeanTerms, weighed: BoolArray
) -> PairedDifference:
    """Add the interval of a difference, whose range is twice that of the metric, or say why it has none."""
    error = standard_error((own.deviations - others.deviations)[weighed])
    if is_rounding(error, own.value):  # all units differ alike
        error = 0.0
    effective = 1 / (own.unit_shares**2).sum()
    scatter = UnitScatter(estimate.unit, np.array([error]), np.array([estimate.units]), np.array([effective]))
    metric = estimate.metric.metric
    reach = metric.highest - metric.lowest
    of_differences = replace(metric, lowest=-reach, highest=reach)
    settings = Intervals(unit=estimate.unit, level=estimate.level)
    try:
        interval = scatter.interval(of_differences, own.value - others.value, settings)
    except NoInterval as reason:
        return replace(estimate, reason=str(reason))
    detectable = detectable_difference(error, level=estimate.level) if error else None
    return replace(estimate, interval=interval, detectable=detectable)


def _without_rounding(differences: Float64Array, values: Float64Array) -> Float64Array:
    """Set differences of equal values to 0, which sums in another order may round apart."""
    return np.where(np.abs(differences) <= ZERO * np.abs(values).max(initial=0), 0, differences)


def _few(count: int, unit: Unit) -> str:
    return f"{count} {unit if count == 1 else PLURAL[unit]}, and a test needs {FEWEST_UNITS}"
