"""Units: the parts of a rank table that are drawn again; rows of one unit are drawn together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.metrics.metric import Needs
from kgeval.metrics.numerics.numbered import numbered
from kgeval.metrics.tables.selection import RowSelection

Unit = Literal["triple", "query", "relation"]
"""triples, each with both sides; queries, each with all of its answers; relations, each with all of its triples"""

UNITS: tuple[Unit, ...] = get_args(Unit)

PLURAL: dict[Unit, str] = {"triple": "triples", "query": "queries", "relation": "relations"}


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
            return Units.numbered(unit, selection.of_lists(selection.relations))
        return Units.numbered("query", np.arange(len(selection.unweighed.lengths)))
    if unit == "triple":
        return Units.numbered(unit, selection.triples)
    return Units.numbered(unit, selection.queries if unit == "query" else selection.relations)
