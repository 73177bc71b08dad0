"""Unit contributions: what each unit of a group of rows adds to the metrics of several models.

All models and metrics have the same units. Their sums give intervals; sign flips swap two models in random units: in
sums where a metric is a function of means, otherwise in the ranks, of which the metric is computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator, Philox

from kgeval.analysis.comparison.comparable import SameRows
from kgeval.arrays import BoolArray, IntArray
from kgeval.data.triples import TARGETS
from kgeval.metrics.intervals.interval import NoInterval, Unit
from kgeval.metrics.intervals.mean_terms import MeanTerms, mean_terms
from kgeval.metrics.intervals.units import Units
from kgeval.metrics.kinds import Needs
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName
from kgeval.metrics.numerics.sums import numbered
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.metrics.selection import RowSelection, TableView
from kgeval.progress import long_loop


@dataclass(frozen=True, eq=False)
class SharedGroup:
    """A group of the rows that models share."""

    views: Mapping[str, TableView]
    same: SameRows
    places: IntArray
    """int64[row], into the shared rows"""
    unit: Unit

    @cached_property
    def rows(self) -> dict[str, IntArray]:
        """The rows of each side, and of both; int64[row], into the shared rows."""
        sides = self.same.sides[self.places]
        of_entities = sides != TARGETS.index("relation")
        return {
            **{side: self.places[sides == number] for number, side in enumerate(TARGETS)},
            "both": self.places[of_entities] if of_entities.any() else self.places,
        }

    @cached_property
    def selections(self) -> dict[tuple[str, str], RowSelection]:
        """The rows of each side in the table of each model."""
        rows = self.same.rows
        return {
            (model, side): RowSelection(view, rows[model][places])
            for model, view in self.views.items()
            for side, places in self.rows.items()
        }

    @cached_property
    def units(self) -> dict[tuple[Needs, str], Units]:
        """The unit of each row of a side; numbers are the same on all sides, so that some may have no row.

        A list is drawn as a whole: for metrics of lists, queries are drawn in place of triples.
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
        """Take the terms of a metric of a model; ``None`` where it is no function of means."""
        needs, side = name.metric.needs, str(name.side)
        selection, units = self.selections[model, side], self.units[needs, side]
        if needs == "lists":
            units = replace(units, ids=selection.of_lists(units.ids))
        return mean_terms(name, selection, unit=units.kind, units=units)


MOST_FLIPS = 999
"""in each of which the metric is computed twice"""

FLIPS = 1
"""the stream of a draw's random numbers that is not the bootstrap's"""

ROUNDING = 1e-12
"""how far apart, beside the largest, equal differences may be"""


def swapped_p_value(name: MetricName, own: Ranks, others: Ranks, units: Units, *, draws: int, seed: int) -> float:
    """Compute (1 + #{|T*| ≥ |T|}) / (1 + draws), T* the difference where random units have swapped their models."""
    both = _behind(own, others)
    observed = _difference(name, both, np.zeros(units.count, np.bool_), units)
    differences = np.empty(draws)
    with long_loop(f"sign flips of {name}", draws, unit="draws") as report:
        for draw in range(draws):
            generator = Generator(Philox(key=np.array([seed % 2**64, draw], np.uint64), counter=[0, 0, 0, FLIPS]))
            swapped = generator.integers(0, 2, units.count).astype(np.bool_)
            try:
                differences[draw] = _difference(name, both, swapped, units)
            except Undefined as reason:
                raise NoInterval(f"it is undefined in a draw: {reason}") from reason
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
