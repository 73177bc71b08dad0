"""DGL-KE: all ties count; raw, an answer competes with itself; two models score candidate tails differently."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.protocols.framework_metric import hits, named
from kgeval.protocols.protocol import Protocol
from kgeval.ranking.engine import Ranked
from kgeval.ranking.kernels.collectors import CountAccumulator
from kgeval.ranking.kernels.reference import ReferenceKernel
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.rules import FrameworkQuirk
from kgeval.ranking.tie_rules import TieRule, clamp, tied_under
from kgeval.scorers.adapters.score_arrays import as_float64
from kgeval.scorers.aligned import Aligned
from kgeval.scorers.families.bilinear import RESCAL, SimplE
from kgeval.scorers.families.projections import TransR


@dataclass(frozen=True)
class TailsAsHeads(FrameworkQuirk):
    """An answer is scored as (h, r, t), its competitors as (t′, r, h), which swaps heads and tails."""

    cause: ClassVar[str] = "tail candidates"
    note: ClassVar[str] = (
        "DGL-KE scores the candidates for the tail of a RESCAL or TransR as heads of the turned-round triple, "
        "but not the answer: its tail ranks compare scores of two models."
    )

    def applies_to(self, scorer: Aligned) -> bool:
        return isinstance(family(scorer), RESCAL | TransR)

    def adjust(self, ranked: Ranked, task: RankingTask, scorer: Aligned, tie_rule: TieRule) -> Ranked:
        if task.queries.side == "head":
            return ranked
        counts = [np.empty((0, 4), np.int64)]
        for query in range(len(task.queries)):
            answers = slice(*task.queries.offsets[query : query + 2])
            part = task[query : query + 1]
            counts.append(_count_as_heads(part, scorer, ranked.scores[answers], tie_rule))
        total = CountAccumulator(task, ranked.scores, np.concatenate(counts), np.zeros(len(task.queries), np.bool_))
        return Ranked(ranked.scores, total.filtered, total.raw)


def _count_as_heads(part: RankingTask, scorer: Aligned, answers: Float64Array, tie_rule: TieRule) -> IntArray:
    """Count one query by the reference kernel, which leaves out the answer by its position, not by its score."""
    ids = part.candidates.ids_of(0)
    scores = as_float64(scorer.scores(replace(part.queries, side="head"), ids), "the scorer")
    ends = CountAccumulator.at_ends(part, answers, tie_rule)
    ReferenceKernel().count_scores(scores.ravel(), np.zeros(1, np.int64), ends)
    return ends.between_ends(part, answers).counts


@dataclass(frozen=True)
class Clamped(FrameworkQuirk):
    """The scores of SimplE are clamped to −20 … 20, so all scores beyond one end tie."""

    cause: ClassVar[str] = "clamp"
    note: ClassVar[str] = "DGL-KE cuts the scores of a SimplE to -20 … 20; all that reach an end of it tie."

    def applies_to(self, scorer: Aligned) -> bool:
        return isinstance(family(scorer), SimplE)

    def tie_rule(self, rule: TieRule) -> TieRule:
        return tied_under(clamp(20.0))


def family(scorer: Aligned) -> object:
    model = getattr(scorer.source, "model", scorer.source)
    return getattr(model, "family", model)


DGLKE = Protocol(
    name="dglke",
    summary="pessimistic ranks; both sides pooled; unfiltered, an answer is its own competitor",
    ties="pessimistic",
    repeats="each",
    self_counting="raw",
    quirks=(TailsAsHeads(), Clamped()),
    framework_metrics=named("{metric}", metric={"MRR": "mrr", "MR": "mr", **hits("HITS@{}", 1, 3, 10)}),
    tie_note="DGL-KE counts every tie against the answer",
)
