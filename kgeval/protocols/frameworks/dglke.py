"""DGL-KE: all ties count; raw, an answer competes with itself; two models score candidate tails differently."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kgeval.protocols.framework_metric import hits, named
from kgeval.protocols.protocol import Protocol
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.engine import Ranked
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
        lowest, highest = (end[:, None] for end in tie_rule(ranked.scores))
        raw, filtered = (np.empty((2, len(lowest)), np.int64) for _ in range(2))
        for query in range(len(task.queries)):
            part, own = task[query : query + 1], slice(*task.queries.offsets[query : query + 2])
            queries, answers = replace(part.queries, side="head"), np.flatnonzero(part.answers >= 0)
            scores = as_float64(scorer.scores(queries, part.candidates.ids_of(0)), "the scorer")
            counted = np.stack([scores > highest[own], (scores >= lowest[own]) & (scores <= highest[own])])
            # An answer is left out by its position, not by its score, which is another model's.
            counted[:, answers, part.answers[answers]] = False
            raw[:, own] = counted.sum(axis=2)
            counted[:, :, part.known.ids] = False
            filtered[:, own] = counted.sum(axis=2)
        counts, raw_counts = (
            RankCounts(above, level, candidates)
            for (above, level), candidates in ((filtered, task.filtered_candidates), (raw, task.raw_candidates))
        )
        return Ranked(ranked.scores, counts, raw_counts)


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
