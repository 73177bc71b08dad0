"""Units: what is resampled as one block, a triple with both sides, a query, or a relation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.metrics.intervals.interval import Interval, NoInterval, Unit
from kgeval.metrics.kinds import Needs
from kgeval.metrics.metric import Undefined
from kgeval.metrics.numerics.sums import numbered
from kgeval.metrics.selection import RowSelection


@dataclass(frozen=True, eq=False)
class Units:
    """The unit that each row, or each list, belongs to."""

    kind: Unit
    ids: IntArray
    """int64[row], from 0, in the order of the table's ids"""
    count: int
    """how many units there are"""

    @classmethod
    def numbered(cls, kind: Unit, keys: IntArray) -> Units:
        """Number units by their keys (int64[row], from 0), in ascending order.

        >>> units = Units.numbered("relation", np.array([7, 2, 7]))
        >>> units.ids, units.count
        (array([1, 0, 1]), 2)
        """
        distinct, ids = numbered(keys)
        return cls(kind, ids, len(distinct))

    def sums(self, values: Float64Array) -> Float64Array:
        """Sum a value of the rows over each unit; float64[unit]."""
        return np.asarray(np.bincount(self.ids, values, minlength=self.count), np.float64)


def units_of(selection: RowSelection, unit: Unit, *, needs: Needs) -> Units:
    """Number the units of some rows (``needs="ranks"``) or of their lists (``"lists"``).

    A list is drawn as a whole: in place of triples, the queries of lists are drawn.
    """
    if needs == "lists":
        if unit == "relation":
            return Units.numbered(unit, selection.of_lists(selection.numbers(unit)))
        return Units.numbered("query", np.arange(len(selection.unweighed.lengths)))
    return Units.numbered(unit, selection.numbers(unit))


def attempt(make: Callable[[], Interval]) -> Interval | NoInterval:
    """Make an interval, or say why there is none."""
    try:
        return make()
    except NoInterval as reason:
        return reason
    except Undefined as reason:  # its units are, as relations of lists that have several
        return NoInterval(str(reason))
