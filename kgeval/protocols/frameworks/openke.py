"""OpenKE: no tie counts; float32 sums in the order of its sorted test triples; the mean of both sides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from kgeval.checkpoints import Checkpoint
from kgeval.protocols.framework_metric import hits, named, running32
from kgeval.protocols.protocol import Protocol
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.engine import Ranked
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.rules import FrameworkQuirk
from kgeval.ranking.tie_rules import TieRule
from kgeval.scorers.aligned import Aligned


@dataclass(frozen=True)
class ReversedSign(FrameworkQuirk):
    """OpenKE takes the lowest score for the best, also for RESCAL with MarginLoss, which gives facts high scores."""

    cause: ClassVar[str] = "sign"
    note: ClassVar[str] = (
        "OpenKE ranks a RESCAL that was trained with its MarginLoss upside down: the least plausible comes first."
    )

    def applies_to(self, scorer: Aligned) -> bool:
        return isinstance(scorer.source, Checkpoint) and scorer.source.lower_is_better

    def adjust(self, ranked: Ranked, task: RankingTask, scorer: Aligned, tie_rule: TieRule) -> Ranked:
        return Ranked(-ranked.scores, _reverse(ranked.filtered), _reverse(ranked.raw))


def _reverse(counts: RankCounts) -> RankCounts:
    return replace(counts, greater=counts.candidates - 1 - counts.greater - counts.tied)


OPENKE = Protocol(
    name="openke",
    summary="optimistic ranks; the mean of the sides' means, in float32 sums; raw and filtered",
    ties="optimistic",
    quirks=(ReversedSign(),),
    repeats="each",
    side_aggregation="apart",
    mean=running32,
    order=("relation", "head", "tail"),
    framework_metrics=named(
        "{side}({setting}) {metric}",
        setting={"raw": "raw", "filter": "filtered"},
        side={"l": "head", "r": "tail", "averaged": "both"},
        metric={"MRR": "mrr", "MR": "mr", **hits("hit@{}", 10, 3, 1)},
    ),
    text="{:f}".format,
    tie_note="OpenKE counts no tie against the answer",
)
