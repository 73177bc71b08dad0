"""Ranks: what every rank-based metric is a function of, and the policies for ties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from kgeval.arrays import BoolArray, Float64Array, IntArray

Ties = Literal["optimistic", "realistic", "pessimistic", "expected"]
TIES: tuple[Ties, ...] = get_args(Ties)


@dataclass(frozen=True, eq=False)
class Ranks:
    """Intervals of ranks: an answer that ties with others may stand anywhere from ``lowest`` to ``highest``.

    Examples
    --------
    >>> import numpy as np
    >>> ranks = Ranks(greater=np.array([0, 2]), tied=np.array([0, 3]), candidates=np.array([5, 9]))
    >>> ranks.lowest, ranks.highest
    (array([1, 3]), array([1, 6]))
    """

    greater: IntArray
    """int64[row], candidates strictly above the answer"""
    tied: IntArray
    """int64[row], candidates level with it"""
    candidates: IntArray
    """int64[row], candidates and the answer itself (N)"""

    def __len__(self) -> int:
        return len(self.greater)

    def __getitem__(self, rows: BoolArray) -> Ranks:
        return Ranks(self.greater[rows], self.tied[rows], self.candidates[rows])

    @property
    def lowest(self) -> IntArray:
        """The optimistic rank, 1 + greater; int64[row]."""
        return 1 + self.greater

    @property
    def highest(self) -> IntArray:
        """The pessimistic rank, 1 + greater + tied; int64[row]."""
        return 1 + self.greater + self.tied

    def values(
        self,
        ties: Ties,
        of_rank: Callable[[Float64Array], Float64Array],
        expected: Callable[[IntArray, IntArray], Float64Array],
    ) -> Float64Array:
        """Apply a function of a rank under a tie policy; float64[row].

        Parameters
        ----------
        ties
            optimistic, pessimistic: the lowest, the highest rank; realistic: their mean (may be x.5); expected: the
            exact mean of the *function* over the interval, as if ties were broken at random (Sun et al., 2020), which
            is not the function of the mean rank
        of_rank
            the function
        expected
            its mean over the whole ranks from the first to the second argument, in closed form
        """
        if ties == "expected":
            return expected(self.lowest, self.highest)
        if ties == "optimistic":
            return of_rank(self.lowest.astype(float))
        if ties == "pessimistic":
            return of_rank(self.highest.astype(float))
        return of_rank((self.lowest + self.highest) / 2)
