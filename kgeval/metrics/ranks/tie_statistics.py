"""Tie statistics: how many answers tie, and how far the tie policy alone moves the MRR.

``rank_summary`` computes them of each group of rows, for ``tie_diagnosis`` in ``metrics.json`` and the note on ties.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kgeval.base.arrays import IntArray
from kgeval.base.errors import counted
from kgeval.metrics.ranks.ranks import Ranks

SERIOUS = 0.01
"""the gap of the MRR above which a note says what the tie policy changes"""


@dataclass(frozen=True)
class TieStatistics:
    """The ties of some ranks."""

    ranks: int
    tied: int
    """the number of answers that tie with a candidate"""
    largest: int
    """the most candidates that one answer ties with"""
    optimistic_mrr: float | None
    """the MRR of the optimistic ranks; ``None``, like the pessimistic MRR, if there are no ranks"""
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


def diagnose(ranks: Ranks, starts: IntArray) -> list[TieStatistics]:
    """Compute the tie statistics of each group of rows; ``starts`` (int64[group]) are their first rows."""
    columns = (
        np.diff(np.r_[starts, len(ranks)]),
        np.add.reduceat(ranks.tied > 0, starts, dtype=np.int64),
        np.maximum.reduceat(ranks.tied, starts),
        *(ranks.means(1 / rank, starts) for rank in (ranks.optimistic, ranks.pessimistic)),
    )
    return [TieStatistics(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def tied_answers(tied: int, ranks: int, largest: int) -> str:
    """Count the answers that tie.

    >>> tied_answers(1, 12, 1), tied_answers(4, 1200, 2)
    ('1 of 12 answers ties with 1 candidate', '4 of 1,200 answers tie, each with up to 2 candidates')
    """
    tie = "ties with" if tied == 1 else "tie, each with up to"
    return f"{tied:,} of {counted(ranks, 'answer')} {tie} {counted(largest, 'candidate')}"
