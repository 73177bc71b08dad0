"""Unit contributions: what each unit adds to the terms of a metric, for several models on the same rows.

The interval is that of a paired bootstrap: both models have the same units in a draw. The p-value is that of sign
flips, which swap the ranks of both models in random units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator, Philox

from kgeval.analysis.comparison.comparable import SameRows
from kgeval.analysis.comparison.paired_difference import DifferenceOptions, PairedDifference, detectable_difference
from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.metrics.intervals.bootstrap import percentiles
from kgeval.metrics.intervals.interval import Interval, Unit, is_rounding
from kgeval.metrics.intervals.mean_terms import MeanTerms, mean_terms
from kgeval.metrics.intervals.units import Units
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.metrics.selection import RowSelection, TableView
from kgeval.progress import long_loop


@dataclass(frozen=True, eq=False)
class SharedSelection:
    """Some of the rows that models share, in the table of one of them."""

    same: SameRows
    model: str
    view: TableView
    places: IntArray
    """int64[row], into the shared rows"""
    unit: Unit

    def contributions(self, name: MetricName) -> tuple[MeanTerms, IntArray] | None:
        """Take the means of a metric, and the numbers of the units that contribute to them; int64[unit], ascending.

        ``None`` where it is no function of means.
        """
        units, numbers = self._units_of_lists if name.metric.needs == "lists" else self.units_of_ranks
        terms = mean_terms(name, self.rows, unit=units.kind, units=units)
        return None if terms is None else (terms, numbers)

    @cached_property
    def rows(self) -> RowSelection:
        return RowSelection(self.view, self.same.rows[self.model][self.places])

    @cached_property
    def units_of_ranks(self) -> tuple[Units, IntArray]:
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


MOST_FLIPS = 999
"""in each of which the metric is computed twice"""

FLIPS = 1
"""the stream of a draw's random numbers that is not the bootstrap's"""

ROUNDING = 1e-12
"""how far apart, beside the largest, equal differences may be"""


def swapped_p_value(name: MetricName, own: SharedSelection, others: SharedSelection, *, draws: int, seed: int) -> float:
    """Compute (1 + #{|T*| ≥ |T|}) / (1 + draws), T* the difference where random units have swapped their models."""
    units, _ = own.units_of_ranks
    both = _behind(*(one.rows.ranks(name.ties, name.average) for one in (own, others)))
    observed = _difference(name, both, np.zeros(units.count, np.bool_), units)
    differences = np.empty(draws)
    with long_loop(f"sign flips of {name}", draws, unit="draws") as report:
        for draw in range(draws):
            generator = Generator(Philox(key=np.array([seed % 2**64, draw], np.uint64), counter=[0, 0, 0, FLIPS]))
            differences[draw] = _difference(name, both, generator.integers(0, 2, units.count).astype(np.bool_), units)
            report(1)
    least = abs(observed) - ROUNDING * float(np.abs(differences).max())
    return float((1 + (np.abs(differences) >= least).sum()) / (1 + draws))


def _difference(name: MetricName, both: Ranks, swapped: BoolArray, units: Units) -> float:
    """The difference of two models, the rows of the second standing behind those of the first, with some swapped."""
    rows = np.arange(len(units.ids))
    behind = len(rows) * swapped[units.ids]
    return float(name(both.at(rows + behind)) - name(both.at(rows + (len(rows) - behind))))


def _behind(first: Ranks, second: Ranks) -> Ranks:
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("greater", "tied", "candidates", "weights", "draws")
        if getattr(first, name) is not None and getattr(second, name) is not None
    }
    return Ranks(**columns, ties=first.ties)


def resampled(
    own: SharedSelection,
    others: SharedSelection,
    difference: PairedDifference,
    drawn: Float64Array,
    options: DifferenceOptions,
) -> PairedDifference:
    """Add p-value and percentile interval to a difference, whose values in a bootstrap's draws are float64[draw]."""
    draws = min(options.draws, MOST_FLIPS)
    try:
        p = swapped_p_value(difference.metric, own, others, draws=draws, seed=options.seed)
    except Undefined as reason:
        return replace(difference, reason=f"it is undefined in a draw: {reason}")
    tested, error, level = replace(difference, p=p, draws=draws), float(drawn.std(ddof=1)), difference.level
    if is_rounding(error, difference.difference or 0):
        return replace(tested, reason="it is the same in all draws, so they do not show how it varies")
    low, high = percentiles(drawn, level)
    method = f"bootstrap, percentile, {len(drawn)} draws"
    interval = Interval(low, high, level, difference.unit, difference.units, method, standard_error=error)
    return replace(tested, interval=interval, detectable=detectable_difference(error, level=level))
