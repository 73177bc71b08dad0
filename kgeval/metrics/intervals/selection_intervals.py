"""Intervals of the metrics of some rows: linearised for functions of means, by the bootstrap for all else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from kgeval.metrics.intervals.bootstrap import bootstrapped
from kgeval.metrics.intervals.interval import Interval, Intervals, NoInterval
from kgeval.metrics.intervals.linearised import unit_scatter
from kgeval.metrics.intervals.mean_terms import mean_terms
from kgeval.metrics.intervals.units import Units, attempt, units_of
from kgeval.metrics.kinds import Needs
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName
from kgeval.metrics.numerics.sums import OfGroups
from kgeval.metrics.selection import RowSelection


@dataclass(frozen=True, eq=False)
class SelectionIntervals:
    """The intervals of metrics of some rows, whose units are numbered once for all metrics."""

    selection: RowSelection
    intervals: Intervals
    _numbered: dict[Needs, Units] = field(default_factory=dict, init=False, repr=False)

    def of_groups(self, name: MetricName, values: Mapping[int, float]) -> dict[int, Interval | NoInterval] | None:
        """Make the intervals of a metric of groups, whose values are known by their numbers, or say why there is none.

        ``None`` if they have to be made group by group: it is no mean over answers or lists, or undefined in some.
        """
        if not name.metric.averaged:
            return dict.fromkeys(values, NoInterval("it counts, and estimates nothing"))
        compute: object = name.metric.compute
        grouped = self.selection.groups is not None
        if grouped and not isinstance(compute, OfGroups):
            return None
        try:
            units = self._units(name.metric.needs)
            terms = mean_terms(name, self.selection, unit=self.intervals.unit, units=units)
        except Undefined as reason:
            return None if grouped else dict.fromkeys(values, NoInterval(str(reason)))
        if terms is None and grouped:
            return None
        if terms is None:
            make = partial(bootstrapped, name, self.selection, units, intervals=self.intervals)
            return {number: attempt(partial(make, value=value)) for number, value in values.items()}
        groups = np.zeros(units.count, np.int64)
        if grouped:
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
