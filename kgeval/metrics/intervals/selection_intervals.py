"""Intervals of the metrics of some rows: linearised for functions of means, by the bootstrap for all else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from kgeval.metrics.intervals.bootstrap import bootstrapped
from kgeval.metrics.intervals.interval import Interval, Intervals, NoInterval, attempt
from kgeval.metrics.intervals.linearised import unit_scatter
from kgeval.metrics.intervals.mean_terms import mean_terms
from kgeval.metrics.intervals.units import Units, units_of
from kgeval.metrics.metric import Needs, Undefined
from kgeval.metrics.numerics.group_means import OfGroups
from kgeval.metrics.tables.names import MetricName
from kgeval.metrics.tables.selection import RowSelection


@dataclass(frozen=True, eq=False)
class SelectionIntervals:
    """The intervals of metrics of some rows, whose units are numbered once for all metrics.

    Examples
    --------
    >>> from kgeval import evaluate
    >>> from kgeval.metrics.tables.names import parse
    >>> from kgeval.metrics.tables.selection import TableView
    >>> table = evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")
    >>> rows = RowSelection(TableView(table), slice(None))
    >>> print(SelectionIntervals(rows, Intervals()).of(parse("mrr"), 0.3781))
    0.343–0.413
    """

    selection: RowSelection
    intervals: Intervals

    def of(self, name: MetricName, value: float) -> Interval:
        """Make the interval of a metric, whose value is known, of all rows together.

        Raises
        ------
        NoInterval
            if it is no estimate, if there are too few units, or if they tell nothing
        """
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
        if not isinstance(compute, OfGroups):
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
        return self._units_of_lists if needs == "lists" else self._units_of_ranks

    @cached_property
    def _units_of_ranks(self) -> Units:
        return units_of(self.selection, self.intervals.unit, needs="ranks")

    @cached_property
    def _units_of_lists(self) -> Units:
        return units_of(self.selection, self.intervals.unit, needs="lists")


def _refuse_counts(name: MetricName) -> None:
    if not name.metric.averaged:
        raise NoInterval("it counts, and estimates nothing")
