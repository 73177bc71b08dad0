"""Ranks: how many candidates score above each answer and how many tie with it, and its rank under a tie policy.

Every metric of ranks reads :class:`Ranks`; ``metrics/selection.py`` takes them from the columns of a rank table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.errors import MetricError
from kgeval.metrics.averages import means_of_groups, numbered
from kgeval.metrics.metric import Undefined
from kgeval.metrics.ranks.ties import TiePolicy, Ties, tie_policy, uniform

Rows = IntArray | slice
"""rows of a column: their positions, or a range"""


@dataclass(frozen=True, eq=False)
class Ranks:
    """The counts of each answer, and its rank under a tie policy: between the optimistic and the pessimistic rank.

    >>> ranks = Ranks(greater=np.array([0, 2]), tied=np.array([0, 3]), candidates=np.array([5, 9]))
    >>> ranks.optimistic, ranks.pessimistic, ranks.values
    (array([1, 3]), array([1, 6]), array([1. , 4.5]))
    """

    greater: IntArray
    """int64[row], the number of candidates that score strictly above the answer"""
    tied: IntArray
    """int64[row], the number of candidates that tie with the answer"""
    candidates: IntArray
    """int64[row], the number of all candidates, with the answer itself (N)"""
    ties: Ties = "realistic"
    """the tie policy; see ``kgeval.metrics.ranks.ties``"""
    weights: Float64Array | None = None
    """float64[row], how much each answer counts; all the same by default"""
    draws: Float64Array | None = None
    """float64[row] in [0, 1), for random ties; by default a function of the number of the row"""
    uncounted: int = 0
    """1 if ``candidates`` leaves the answer out (``chance="without-answer"``), else 0"""

    def __len__(self) -> int:
        return len(self.greater)

    def under(self, ties: Ties) -> Ranks:
        return replace(self, ties=ties)

    def at(self, rows: IntArray | slice) -> Ranks:
        """Return the ranks of some rows (int64[chosen], or a slice), any of them as often as it is chosen."""
        return replace(self, **{name: column[rows] for name, column in self.columns.items()})

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that are not ``None``, by name; [row] each."""
        columns = {name: getattr(self, name) for name in ("greater", "tied", "candidates", "weights", "draws")}
        return {name: column for name, column in columns.items() if column is not None}

    @property
    def competitors(self) -> IntArray:
        """The candidates without the answer itself, N − 1; int64[row]."""
        return self.candidates + self.uncounted - 1

    @cached_property
    def optimistic(self) -> IntArray:
        """The optimistic rank, 1 + greater; int64[row]."""
        return 1 + self.greater

    @cached_property
    def pessimistic(self) -> IntArray:
        """The pessimistic rank, 1 + greater + tied; int64[row]."""
        return 1 + self.greater + self.tied

    @cached_property
    def values(self) -> Float64Array:
        """The ranks under the tie policy; float64[row]."""
        draws = self.draws
        if draws is None:
            draws = uniform(0, np.arange(len(self))) if self.policy.random else np.zeros(len(self))
        ranks = np.asarray(self.policy.rank(self.optimistic, self.pessimistic, draws))
        if ranks.shape != draws.shape or not ((self.optimistic <= ranks) & (ranks <= self.pessimistic)).all():
            expected = "a rank from 1 + greater to 1 + greater + tied for each row"
            raise MetricError(f"tie policy {self.policy.name!r}: expected {expected}.")
        return ranks.astype(np.float64, copy=False)

    @cached_property
    def sizes(self) -> tuple[IntArray, IntArray]:
        """The different numbers of candidates (int64[size]), and the position of each row's among them (int64[row])."""
        return numbered(self.candidates)

    @property
    def policy(self) -> TiePolicy:
        return tie_policy(self.ties)

    @cached_property
    def normalized_weights(self) -> Float64Array:
        """The weights, divided by their sum; float64[row]."""
        if not len(self):
            raise Undefined("there are no ranks")
        weights = np.ones(len(self)) if self.weights is None else self.weights
        if not weights.any():
            raise Undefined("no rank has a weight")
        return np.asarray(weights / weights.sum(), np.float64)

    def mean(self, values: Float64Array) -> float:
        """The mean of a value of each row (float64[row]), weighted by ``weights``."""
        if (shape := np.shape(values)) != (len(self),):
            raise MetricError(f"a mean of ranks: expected a number for each of {len(self)}, found shape {shape}.")
        self.normalized_weights  # noqa: B018 - raises where there is no mean
        return float(self.means(values, np.zeros(1, np.int64))[0])

    def means(self, values: Float64Array, starts: IntArray) -> Float64Array:
        """The weighted mean, in each group, of a value of each row (float64[row]); float64[group].

        ``starts`` are the first rows of the groups, int64[group]. A mean is NaN if no rank of its group has a weight.
        """
        return means_of_groups(values, starts, self.weights)
