"""Rows of ids of different lengths, one for each query, in two flat arrays (compressed sparse rows)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kgeval.base.arrays import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Rows:
    """One row of ids per query; row ``q`` is ``ids[offsets[q]:offsets[q + 1]]``.

    Examples
    --------
    >>> rows = Rows.of([[3, 5], [], [4]])
    >>> rows.row(0), rows.lengths
    (array([3, 5]), array([2, 0, 1]))
    >>> rows[1:3].row(1)
    array([4])
    """

    offsets: IntArray
    """int64[query + 1], from 0 to the number of ids"""
    ids: IntArray
    """int64[id]"""

    @classmethod
    def of(cls, rows: Iterable[Iterable[int]]) -> Rows:
        arrays = [np.asarray(list(row), np.int64) for row in rows]
        return cls.sized(np.array([len(row) for row in arrays], np.int64), np.concatenate([*arrays, _NO_IDS]))

    @classmethod
    def sized(cls, lengths: IntArray, ids: IntArray) -> Rows:
        return cls(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), ids)

    @classmethod
    def spans(cls, starts: IntArray, stops: IntArray, pool: IntArray) -> Rows:
        """Gather ``pool[starts[q]:stops[q]]`` as row ``q``."""
        lengths = stops - starts
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return cls(offsets, pool[np.repeat(starts, lengths) + within])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, part: slice) -> Rows:
        start, stop, _ = part.indices(len(self))
        offsets = self.offsets[start : stop + 1]
        return Rows(offsets - offsets[0], self.ids[offsets[0] : offsets[-1]])

    @property
    def lengths(self) -> IntArray:
        """The number of ids in each row; int64[query]."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> IntArray:
        """The query that each id belongs to; int64[id]."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def row(self, query: int) -> IntArray:
        return self.ids[self.offsets[query] : self.offsets[query + 1]]

    def positions(self, owners: IntArray, ids: IntArray) -> IntArray:
        """Find the place of each id in its owner's row, which is ascending; -1 where it is not in it; int64[id].

        >>> Rows.of([[3, 5], [4]]).positions(np.array([0, 0, 1]), np.array([5, 4, 4]))
        array([ 1, -1,  0])
        """
        # All rows are bisected side by side: that takes memory for what is sought alone, however long the rows are.
        starts, stops = self.offsets[owners], self.offsets[owners + 1]
        places, ends = starts.copy(), stops.copy()
        padded = self.ids if len(self.ids) else np.array([-1])
        while (places < ends).any():
            middle = (places + ends) // 2
            below = (places < ends) & (padded[np.minimum(middle, len(padded) - 1)] < ids)
            places, ends = np.where(below, middle + 1, places), np.where(below, ends, np.minimum(middle, ends))
        there = (places < stops) & (padded[np.minimum(places, len(padded) - 1)] == ids)
        return np.where(there, places - starts, -1)

    def where(self, keep: BoolArray) -> Rows:
        """Keep the ids for which ``keep`` (bool[id]) holds, in their rows."""
        return Rows.sized(np.bincount(self.owners[keep], minlength=len(self)), self.ids[keep])


_NO_IDS = np.empty(0, np.int64)
