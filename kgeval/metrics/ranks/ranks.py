"""Ranks: the optimistic and the pessimistic rank of each answer, and its rank under a tie policy."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.errors import MetricError, counted
from kgeval.metrics.averages import means_of_groups, numbered
from kgeval.metrics.metric import Undefined
from kgeval.metrics.ranks.ties import TiePolicy, Ties, tie_policy

UInt64Array = npt.NDArray[np.uint64]


def uniform(seed: int, *keys: IntArray) -> Float64Array:
    """Draw from [0, 1) for each row of keys, by the SplitMix64 generator (Steele, Lea and Flood, 2014); float64[row].

    >>> first, second = np.array([3, 4]), np.array([0, 0])
    >>> bool((uniform(7, first, second)[::-1] == uniform(7, first[::-1], second)).all())
    True
    """
    state = np.zeros(len(keys[0]), np.uint64) + np.uint64(seed % 2**64)
    for key in keys:
        state = _mix(_mix(state) + key.astype(np.uint64))
    return np.asarray((_mix(state) >> np.uint64(11)) * 2.0**-53, np.float64)


def _mix(z: UInt64Array) -> UInt64Array:
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class Ranks:
    """Intervals of ranks: an answer that ties with others may have any rank from ``optimistic`` to ``pessimistic``.

    >>> ranks = Ranks(greater=np.array([0, 2]), tied=np.array([0, 3]), candidates=np.array([5, 9]))
    >>> ranks.optimistic, ranks.pessimistic, ranks.values
    (array([1, 3]), array([1, 6]), array([1. , 4.5]))
    """

    greater: IntArray
    """int64[row], candidates that score strictly above the answer"""
    tied: IntArray
    """int64[row], candidates that tie with it"""
    candidates: IntArray
    """int64[row], candidates and the answer itself (N)"""
    ties: Ties = "realistic"
    """the tie policy; see ``kgeval.metrics.ranks.ties``"""
    weights: Float64Array | None = None
    """float64[row], how much each answer counts; all the same by default"""
    draws: Float64Array | None = None
    """float64[row] in [0, 1), for random ties; by default keyed by the number of the row"""

    def __len__(self) -> int:
        return len(self.greater)

    def under(self, ties: Ties) -> Ranks:
        return replace(self, ties=ties)

    def at(self, rows: IntArray) -> Ranks:
        """Return the ranks of some rows (int64[chosen]), any of them as often as it is chosen."""
        columns = {name: getattr(self, name) for name in ("greater", "tied", "candidates", "weights", "draws")}
        return replace(self, **{name: column[rows] for name, column in columns.items() if column is not None})

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
            raise MetricError(
                f"tie policy {self.policy.name!r}: expected a rank from 1 + greater to 1 + greater + tied for each row."
            )
        return ranks.astype(np.float64, copy=False)

    @cached_property
    def sizes(self) -> tuple[IntArray, IntArray]:
        """The different numbers of candidates, and which of them each row has; int64[size], int64[row]."""
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
        """The mean of a value of each row (float64[row]), by the weights of the average that is computed."""
        if (shape := np.shape(values)) != (len(self),):
            raise MetricError(f"a mean of ranks: expected a number for each of {len(self)}, found shape {shape}.")
        self.normalized_weights  # noqa: B018 - raises where there is no mean
        return float(self.means(values, np.zeros(1, np.int64))[0])

    def means(self, values: Float64Array, starts: IntArray) -> Float64Array:
        """The weighted mean of a value of the rows in each of the groups that begin at some; float64[group].

        It is NaN where no rank has a weight.
        """
        return means_of_groups(values, starts, self.weights)


SERIOUS = 0.01
"""the gap of the MRR above which a note says what the tie policy changes"""


@dataclass(frozen=True)
class TieStatistics:
    """The ties of some ranks."""

    ranks: int
    tied: int
    """how many of them tie with a candidate"""
    largest: int
    """the most candidates that one answer ties with"""
    optimistic_mrr: float | None
    """``None``, like the pessimistic one, if there are no ranks"""
    pessimistic_mrr: float | None

    @property
    def gap(self) -> float | None:
        """How far the tie policy alone moves the MRR; ``None`` if there are no ranks."""
        if self.optimistic_mrr is None or self.pessimistic_mrr is None:
            return None
        return self.optimistic_mrr - self.pessimistic_mrr

    @property
    def serious(self) -> bool:
        return self.gap is not None and self.gap > SERIOUS

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``tie_diagnosis`` in ``metrics.json``."""
        return {**asdict(self), "mrr_gap": self.gap}

    def __str__(self) -> str:
        if not self.ranks:
            return "there are no ranks."
        return (
            f"{tied_answers(self.tied, self.ranks, self.largest)}. "
            f"The tie policy alone moves the MRR from {self.pessimistic_mrr:.6f} (pessimistic) to "
            f"{self.optimistic_mrr:.6f} (optimistic)."
        )


def tied_answers(tied: int, ranks: int, largest: int) -> str:
    """Count the answers that tie.

    >>> tied_answers(1, 12, 1), tied_answers(4, 1200, 2)
    ('1 of 12 answers ties with 1 candidate', '4 of 1,200 answers tie, each with up to 2 candidates')
    """
    tie = "ties with" if tied == 1 else "tie, each with up to"
    return f"{tied:,} of {counted(ranks, 'answer')} {tie} {counted(largest, 'candidate')}"


def diagnose(ranks: Ranks, starts: IntArray) -> list[TieStatistics]:
    columns = (
        np.diff(np.r_[starts, len(ranks)]),
        np.add.reduceat(ranks.tied > 0, starts, dtype=np.int64),
        np.maximum.reduceat(ranks.tied, starts),
        *(ranks.means(1 / rank, starts) for rank in (ranks.optimistic, ranks.pessimistic)),
    )
    return [TieStatistics(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
