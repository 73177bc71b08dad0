"""Unit contributions: what each unit adds to the terms of a metric, for several models on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kgeval.analysis.comparison.same_rows import SameRows
from kgeval.arrays import Float64Array, IntArray
from kgeval.metrics.intervals.mean_terms import MeanTerms, mean_terms
from kgeval.metrics.intervals.units import Unit, Units
from kgeval.metrics.tables.names import MetricName
from kgeval.metrics.tables.selection import RowSelection, TableView


@dataclass(frozen=True, eq=False)
class Contributions:
    """A metric of one model, as a function of means to which each unit contributes."""

    terms: MeanTerms
    numbers: IntArray
    """int64[unit], ascending: the numbers of its units among those of all models and metrics"""

    def at(self, means: Float64Array) -> Float64Array:
        """How much each unit's sums are of the metric, to first order at some means; float64[unit]."""
        return np.asarray(self.terms.gradient_at(means) @ self.terms.unit_sums, np.float64)


@dataclass(frozen=True, eq=False)
class SharedSelection:
    """Some of the rows that models share, in the table of one of them."""

    same: SameRows
    model: str
    view: TableView
    places: IntArray
    """int64[row], into the shared rows"""
    unit: Unit

    def contributions(self, name: MetricName) -> Contributions | None:
        """Take what the units contribute to a metric; ``None`` where it is no function of means.

        Raises
        ------
        Undefined
            where the metric is
        """
        units, numbers = self._units_of_lists if name.metric.needs == "lists" else self.units_of_ranks
        terms = mean_terms(name, self.rows, unit=units.kind, units=units)
        return None if terms is None else Contributions(terms, numbers)

    @cached_property
    def rows(self) -> RowSelection:
        """These rows, selected."""
        return RowSelection(self.view, self.same.rows[self.model][self.places])

    @cached_property
    def units_of_ranks(self) -> tuple[Units, IntArray]:
        """The unit of each row, and the numbers of the units."""
        return _numbered(self.unit, self.same.keys(self.unit)[self.places])

    @cached_property
    def _units_of_lists(self) -> tuple[Units, IntArray]:
        unit = unit_of_lists(self.unit)
        return _numbered(unit, self.rows.of_lists(self.same.keys(unit)[self.places]))


def unit_of_lists(unit: Unit) -> Unit:
    """The unit that is drawn for a metric of lists: a list is drawn as a whole, in place of its triples."""
    return "query" if unit == "triple" else unit


def _numbered(unit: Unit, keys: IntArray) -> tuple[Units, IntArray]:
    return Units.numbered(unit, keys), np.flatnonzero(np.bincount(keys))
