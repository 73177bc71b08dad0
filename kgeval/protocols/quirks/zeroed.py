"""Known answers that compete with probability 0.0 instead of being filtered out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.ranking.counts import RankCounts
from kgeval.ranking.engine import Ranked
from kgeval.ranking.quirks import FrameworkQuirk
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.tie_rules import TieRule, sigmoid32
from kgeval.scorers.aligned import Aligned


@dataclass(frozen=True)
class KnownAnswersKeepZero(FrameworkQuirk):
    """Known answers get probability 0.0, and tie with an answer whose float32 sigmoid is 0.0 (score below −88.7)."""

    cause: ClassVar[str] = "zeroed answers"

    def applies_to(self, scorer: Aligned) -> bool:
        """Always: it depends on the scores."""
        return True

    def adjust(self, ranked: Ranked, task: RankingTask, scorer: Aligned, tie_rule: TieRule) -> Ranked:
        """Count the known answers among the tied."""
        hidden = ranked.raw.candidates - ranked.filtered.candidates
        tied = np.where(sigmoid32(ranked.scores) == 0, hidden, 0)
        return ranked._replace(filtered=ranked.filtered + RankCounts(np.zeros_like(tied), tied, tied + 1))
