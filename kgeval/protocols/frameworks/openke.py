"""OpenKE: no tie counts; float32 sums in the order of its sorted test triples; the mean of both sides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from kgeval.checkpoints import Checkpoint
from kgeval.metrics.names import Part
from kgeval.protocols.framework_metric import FrameworkMetric, Setting, running32
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


_METRICS = {"MRR": "mrr", "MR": "mr", "hit@10": "hits@10", "hit@3": "hits@3", "hit@1": "hits@1"}

_SIDES: dict[str, Part] = {"l": "head", "r": "tail", "averaged": "both"}
_SETTINGS: dict[str, Setting] = {"raw": "raw", "filter": "filtered"}

OPENKE = Protocol(
    name="openke",
    summary="optimistic ranks; the mean of the sides' means, in float32 sums; raw and filtered",
    ties="optimistic",
    quirks=(ReversedSign(),),
    repeats="each",
    side_aggregation="apart",
    mean=running32,
    order=("relation", "head", "tail"),
    framework_metrics=tuple(
        FrameworkMetric(f"{part}({short}) {name}", metric, side, setting)
        for short, setting in _SETTINGS.items()
        for part, side in _SIDES.items()
        for name, metric in _METRICS.items()
    ),
    text="{:f}".format,
    tie_note="OpenKE counts no tie against the answer",
)
