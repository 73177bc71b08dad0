"""Tie statistics: how many answers tie with candidates, and how far the tie policy alone moves the MRR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.arrays import IntArray
from kgeval.errors import counted
from kgeval.metrics.ranks.ranks import Ranks

SERIOUS = 0.01
"""the gap of the MRR above which its tie policy has to be known"""


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
        """Whether the gap is more than 0.01."""
        return self.gap is not None and self.gap > SERIOUS

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``tie_diagnosis`` in ``metrics.json``."""
        return {
            "ranks": self.ranks,
            "tied": self.tied,
            "largest": self.largest,
            "optimistic_mrr": self.optimistic_mrr,
            "pessimistic_mrr": self.pessimistic_mrr,
            "mrr_gap": self.gap,
        }

    def __str__(self) -> str:
        if not self.ranks:
            return "there are no ranks that could tie."
        largest = counted(self.largest, "candidate")
        return (
            f"{self.tied} of {self.ranks} ranks tie, with up to {largest}. The tie policy alone moves the MRR from "
            f"{self.pessimistic_mrr:.6f} (pessimistic) to {self.optimistic_mrr:.6f} (optimistic)."
        )


def diagnose(ranks: Ranks) -> TieStatistics:
    """Compute the tie statistics of ranks.

    >>> diagnose(Ranks(np.array([0, 3]), np.array([1, 0]), np.array([5, 5]))).gap
    0.25
    """
    return diagnose_groups(ranks, np.zeros(1, np.int64))[0] if len(ranks) else TieStatistics(0, 0, 0, None, None)


def diagnose_groups(ranks: Ranks, starts: IntArray) -> list[TieStatistics]:
    """Compute the tie statistics of each of the groups that begin at some ranks."""
    columns = (
        np.diff(np.r_[starts, len(ranks)]),
        np.add.reduceat(ranks.tied > 0, starts, dtype=np.int64),
        np.maximum.reduceat(ranks.tied, starts),
        *(ranks.means(1 / rank, starts) for rank in (ranks.optimistic, ranks.pessimistic)),
    )
    return [TieStatistics(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
