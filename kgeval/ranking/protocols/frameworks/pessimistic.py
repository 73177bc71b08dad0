"""Frameworks that count every tie against the answer: kbc, PyTorch-BigGraph, TorchKGE, Marius and DGL-KE."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from kgeval.data.triples import Side
from kgeval.models.aligned import Aligned
from kgeval.models.families.bilinear import RESCAL, SimplE
from kgeval.models.families.projections import TransR
from kgeval.models.mapped import Reciprocal
from kgeval.models.scorer import as_float64
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.engine import Ranked
from kgeval.ranking.protocols.framework_metric import (
    float32,
    float32_then_64,
    hits,
    named,
    sum32,
    up_to_the_last_of_train,
)
from kgeval.ranking.protocols.protocol import Protocol
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.rules import FrameworkQuirk
from kgeval.ranking.tie_rules import TieRule, clamp, tied_under

_pessimistic = partial(Protocol, ties="pessimistic", repeats="each")

KBC = _pessimistic(
    name="kbc",
    summary="pessimistic ranks; candidates are ids up to the largest in train; mean of head and tail float32 means",
    competes=up_to_the_last_of_train,
    side_aggregation="apart",
    mean=float32,
    framework_metrics=named(
        "{metric}{side}",
        side={"": "both", " rhs": "tail", " lhs": "head"},
        metric={"MRR": "mrr", **hits("hits@{}", 1, 3, 10)},
    ),
    text="{:.4f}".format,  # hits are a tensor
    texts=dict.fromkeys(("MRR", "MRR rhs", "MRR lhs"), repr),
    tie_note="kbc counts every tie against the answer",
)


TKBC = replace(
    KBC,
    name="tkbc",
    summary="for temporal graphs: as kbc, filtered by facts of the query's time",
    tie_note="tkbc counts every tie against the answer",
)


PBG = _pessimistic(
    name="pbg",
    summary="pessimistic ranks; mean of head and tail means, summed in float32; no hits at 3; a random AUC",
    side_aggregation="apart",
    mean=sum32,
    framework_metrics=named("{metric}", metric={"pos_rank": "mr", "mrr": "mrr", **hits("r{}", 1, 10, 50)}),
    text="{:.6g}".format,
    tie_note="PyTorch-BigGraph counts every tie against the answer",
)


_HITS = hits("hit_at_{}", 1, 3, 10)
_METRICS = {"mean_rank": "mr", "mrr": "mrr", **_HITS}
_SETTINGS = {"raw": "raw", "filtered": "filtered"}

TORCHKGE = _pessimistic(
    name="torchkge",
    summary="pessimistic ranks; mean of head and tail float32 means; raw and filtered",
    side_aggregation="apart",
    predicts_relations=True,
    mean=float32_then_64,
    framework_metrics=(
        *named("{metric}, {setting}", metric=_METRICS, setting=_SETTINGS),
        *named("{metric}_{side}s, {setting}", side={"head": "head", "tail": "tail"}, metric=_HITS, setting=_SETTINGS),
        # Those of its RelationPredictionEvaluator, which are called as those of links.
        *named("relations: {metric}, {setting}", side={"": "relation"}, metric=_METRICS, setting=_SETTINGS),
    ),
    text=lambda value: str(round(value, 3)),
    # A mean rank of entities is printed without its fraction.
    texts=dict.fromkeys(("mean_rank, raw", "mean_rank, filtered"), lambda rank: str(int(rank))),
    tie_note="TorchKGE counts every tie against the answer",
)


@dataclass(frozen=True)
class TailsOnly(FrameworkQuirk):
    """Heads are predicted as tails of the inverse relation, so a model without inverse relations predicts none."""

    cause: ClassVar[str] = "sides"
    note: ClassVar[str] = "Marius predicts tails only, with a model that has no inverse relations."

    def applies_to(self, scorer: Aligned) -> bool:
        return not isinstance(scorer.scorer, Reciprocal)

    def predicts_side(self, side: Side) -> bool:
        return side == "tail"


MARIUS = _pessimistic(
    name="marius",
    summary="pessimistic ranks; filtered by all edges; models without inverse relations rank only tails",
    self_counting="raw",
    quirks=(TailsOnly(),),
    framework_metrics=named(
        "{metric}", metric={"Mean Rank": "mr", "MRR": "mrr", **hits("Hits@{}", 1, 3, 5, 10, 50, 100)}
    ),
    text="{:f}".format,
    tie_note="Marius counts every tie against the answer",
)


@dataclass(frozen=True)
class TailsAsHeads(FrameworkQuirk):
    """An answer is scored as (h, r, t), its competitors as (t′, r, h), which swaps heads and tails."""

    cause: ClassVar[str] = "tail candidates"
    note: ClassVar[str] = (
        "DGL-KE scores the candidates for the tail of a RESCAL or TransR as heads of the swapped triple, "
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
            # The answer is left out by its position: its own score comes from the other direction of the model.
            counted[:, answers, part.answers[answers]] = False
            raw[:, own] = counted.sum(axis=2)
            counted[:, :, part.known.ids] = False
            filtered[:, own] = counted.sum(axis=2)
        counts, raw_counts = (
            RankCounts(above, level, candidates)
            for (above, level), candidates in ((filtered, task.filtered_candidates), (raw, task.raw_candidates))
        )
        return ranked._replace(filtered=counts, raw=raw_counts)


@dataclass(frozen=True)
class Clamped(FrameworkQuirk):
    """The scores of SimplE are clamped to −20 … 20, so all scores beyond one end tie."""

    cause: ClassVar[str] = "clamp"
    note: ClassVar[str] = "DGL-KE clamps the scores of a SimplE to -20 … 20; all scores beyond an end tie."

    def applies_to(self, scorer: Aligned) -> bool:
        return isinstance(family(scorer), SimplE)

    def tie_rule(self, rule: TieRule) -> TieRule:
        return tied_under(clamp(20.0))


def family(scorer: Aligned) -> object:
    model = getattr(scorer.source, "model", scorer.source)
    return getattr(model, "family", model)


DGLKE = _pessimistic(
    name="dglke",
    summary="pessimistic ranks; both sides pooled; in the raw setting the answer is also a candidate",
    self_counting="raw",
    quirks=(TailsAsHeads(), Clamped()),
    framework_metrics=named("{metric}", metric={"MRR": "mrr", "MR": "mr", **hits("HITS@{}", 1, 3, 10)}),
    tie_note="DGL-KE counts every tie against the answer",
)
