"""Intervals of the metrics of some rows: linearised for functions of means, by the bootstrap for all else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kgeval.metrics.intervals.bootstrap import bootstrapped
from kgeval.metrics.intervals.interval import (
    BOUNDED,
    PLURAL,
    UNITS,
    Interval,
    Intervals,
    NoInterval,
    Units,
    attempt,
    units_of,
)
from kgeval.metrics.intervals.linearised import unit_scatter
from kgeval.metrics.intervals.mean_terms import mean_terms
from kgeval.metrics.metric import Needs, Undefined
from kgeval.metrics.names import MetricName
from kgeval.metrics.numerics.sums import OfGroups
from kgeval.metrics.selection import RowSelection

if TYPE_CHECKING:
    from kgeval.metrics.summary import Group


@dataclass(frozen=True, eq=False)
class SelectionIntervals:
    """The intervals of metrics of some rows, whose units are numbered once for all metrics."""

    selection: RowSelection
    intervals: Intervals
    _numbered: dict[Needs, Units] = field(default_factory=dict, init=False, repr=False)

    def of(self, name: MetricName, value: float) -> Interval:
        """Make the interval of a metric, whose value is known, of all rows together."""
        _refuse_counts(name)
        units = self._units(name.metric.needs)
        terms = mean_terms(name, self.selection, unit=self.intervals.unit, units=units)
        if terms is None:
            return bootstrapped(name, self.selection, units, value=value, intervals=self.intervals)
        return unit_scatter(terms, np.zeros(units.count, np.int64)).interval(name.metric, value, self.intervals)

    def of_groups(self, name: MetricName, values: Mapping[int, float]) -> dict[int, Interval | NoInterval] | None:
        """Make the intervals of a metric of groups, whose values are known by their numbers, or say why there is none.

        ``None`` if they have to be made group by group: it is no mean over answers or lists, or undefined in some.
        """
        compute: object = name.metric.compute
        if self.selection.groups is None or not isinstance(compute, OfGroups):
            return None
        try:
            _refuse_counts(name)
            units = self._units(name.metric.needs)
            terms = mean_terms(name, self.selection, unit=self.intervals.unit, units=units)
        except NoInterval as reason:
            return dict.fromkeys(values, reason)
        except Undefined:
            return None
        if terms is None:
            return None
        groups = np.empty(units.count, np.int64)
        groups[units.ids] = self.selection.groups_of(name.metric.needs)
        scatter = unit_scatter(terms, groups)
        return {
            number: attempt(partial(scatter.interval, name.metric, value, self.intervals, group=number))
            for number, value in values.items()
        }

    def _units(self, needs: Needs) -> Units:
        if needs not in self._numbered:
            self._numbered[needs] = units_of(self.selection, self.intervals.unit, needs=needs)
        return self._numbered[needs]


def _refuse_counts(name: MetricName) -> None:
    if not name.metric.averaged:
        raise NoInterval("it counts, and estimates nothing")


def interval_notes(groups: Sequence[Group]) -> Iterator[str]:
    """Yield what a reader of the intervals should know; that a count has none is no news."""
    names = list(dict.fromkeys(name for group in groups for name in group.values if name.metric.averaged))
    without: dict[str, list[str]] = {}
    for name in names:
        if reasons := [group.no_interval[str(name)] for group in groups if str(name) in group.no_interval]:
            where = f" in {len(reasons)} of {len(groups)} groups, the first" if len(groups) > 1 else ""
            without.setdefault(f"{where}: {reasons[0]}", []).append(str(name))
    for reason, metrics in without.items():
        yield f"no interval of {', '.join(metrics)}{reason}."
    made = [(name, interval) for group in groups for name, interval in group.intervals.items()]
    for unit in UNITS:
        carried = {name for name, interval in made if (interval.method, interval.unit) == (BOUNDED, unit)}
        if carried:
            which = ", ".join(str(name) for name in names if name in carried)
            where = "in some groups " if len(groups) > 1 else ""
            yield f"{where}few {PLURAL[unit]} carry {which}: the interval allows for rare values that were not drawn."
