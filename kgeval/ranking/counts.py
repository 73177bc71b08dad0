"""Rank counts: the three integers that describe how an answer did among its candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import counted
from kgeval.base.tables.shown import Brief


@dataclass(frozen=True, eq=False, repr=False)
class RankCounts(Brief):
    """How many candidates beat or tie each answer, and how many there were.

    Counts over parts of the candidates add up to the counts over all of them; every part counts the answer itself
    among its ``candidates``, the sum counts it once.

    Examples
    --------
    >>> import numpy as np
    >>> first, second = (RankCounts(*np.array([[2], [1], [5]])), RankCounts(*np.array([[0], [1], [4]])))
    >>> total = first + second
    >>> int(total.greater[0]), int(total.tied[0]), int(total.candidates[0])
    (2, 2, 8)
    """

    greater: IntArray
    """int64[answer], candidates that score strictly above the answer"""
    tied: IntArray
    """int64[answer], candidates that score exactly the same"""
    candidates: IntArray
    """int64[answer], candidates and the answer itself: the N of the adjusted metrics"""

    def _brief(self) -> str:
        return counted(len(self.greater), "answer")

    @classmethod
    def of(cls, table: pa.Table, prefix: str = "") -> RankCounts:
        """Take the three columns of a rank table whose names begin with ``prefix``."""
        return cls(*(table[prefix + name].to_numpy() for name in ("greater", "tied", "candidates")))

    @classmethod
    def concatenated(cls, parts: Sequence[RankCounts]) -> RankCounts:
        """Concatenate the counts of different answers."""
        names = ("greater", "tied", "candidates")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @property
    def columns(self) -> tuple[IntArray, IntArray, IntArray]:
        return self.greater, self.tied, self.candidates

    def take(self, answers: IntArray) -> RankCounts:
        """Take the counts of some answers, in another order."""
        return RankCounts(*(column[answers] for column in self.columns))

    def __add__(self, other: RankCounts) -> RankCounts:
        return RankCounts(self.greater + other.greater, self.tied + other.tied, self.candidates + other.candidates - 1)

    def __sub__(self, other: RankCounts) -> RankCounts:
        return RankCounts(self.greater - other.greater, self.tied - other.tied, self.candidates - other.candidates + 1)

    @property
    def impossible(self) -> BoolArray:
        """Whether no candidates can be counted so; bool[answer]."""
        beaten = self.candidates - self.tied
        return np.asarray((self.greater < 0) | (self.tied < 0) | (self.candidates < 1) | (self.greater >= beaten))
