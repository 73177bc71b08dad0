"""Frameworks that decide otherwise what a tie is: LibKGE and AmpliGraph round scores, for OpenKE nothing ties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from kgeval.models.aligned import Aligned
from kgeval.models.checkpoints import Checkpoint
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.engine import Ranked
from kgeval.ranking.protocols.framework_metric import histogram32, hits, in_train, named, running32
from kgeval.ranking.protocols.protocol import Protocol
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.rules import FrameworkQuirk
from kgeval.ranking.tie_rules import TieRule, isclose_ties, tied_under, truncate_to_decimals

# The filter is train, valid and the evaluated split (``filter_splits``). Where it lacks test, every filtered metric is
# also computed with test in the filter (``filter_with_test``).
LIBKGE = Protocol(
    name="libkge",
    summary="scores within 1e-5 + 1e-4 |s| tie; the mean of tied ranks is rounded up; float32 histogram",
    ties="rounded",
    filter={"train": ("train", "valid"), "valid": ("train", "valid"), "test": ("train", "valid", "test")},
    with_test=True,
    tie_rule=isclose_ties(relative=1e-4, absolute=1e-5),
    repeats="each",
    mean=histogram32,
    framework_metrics=named(
        "{metric}{setting}{side}",
        # What is read first is filtered, as the head of the table says.
        setting={"_filtered": "filtered", "_filtered_with_test": "with_test", "": "raw"},
        side={"": "both", "_head": "head", "_tail": "tail"},
        metric={
            "mean_rank": "mr",
            "mean_reciprocal_rank": "mrr",
            **hits("hits_at_{}", 1, 3, 10, 50, 100, 200, 300, 400, 500, 1000),
        },
    ),
    hits_need_candidates=True,
    tie_note="LibKGE treats scores within its tolerance as ties",
)


# AmpliGraph 2 subtracts known answers as if all ties had counted. By its default strategy they do, so that subtraction
# is filtering. ``best`` counts none and ``middle`` half of them, and both subtract the known answers that tie all the
# same, the answer itself among them: ranks of 0 come out, whose mean reciprocal rank is infinite. Its readers drop
# repeated triples.
AMPLIGRAPH = Protocol(
    name="ampligraph",
    summary="pessimistic ranks; scores are cut to 3 decimals; only entities of train are candidates",
    ties="pessimistic",
    tie_rule=tied_under(truncate_to_decimals(3)),
    competes=in_train,
    self_counting="subtracted",
    framework_metrics=named(
        "{metric}", metric={"mr_score": "mr", "mrr_score": "mrr", **hits("hits_at_n_score({})", 1, 3, 10)}
    ),
    tie_note="AmpliGraph treats scores with the same thousandths as ties",
)

BEST = replace(
    AMPLIGRAPH,
    name="ampligraph-best",
    summary="as ampligraph with ranking_strategy best: no ties count, but tied known answers are subtracted",
    ties="optimistic",
)

MIDDLE = replace(
    AMPLIGRAPH,
    name="ampligraph-middle",
    summary="as ampligraph with ranking_strategy middle: half of the ties count, but all known answers are subtracted",
    ties="rounded",
)

# AmpliGraph 1 has another evaluator (``EmbeddingModel.py``, 1.4.0): before 1.3.2 it compared unrounded floats; known
# answers are left out by the rule that counted them; and without a filter an answer competes with itself.
AMPLIGRAPH_1 = Protocol(
    name="ampligraph1",
    summary="AmpliGraph 1.3.2 to 1.4: pessimistic ranks; scores are cut to 5 decimals",
    ties="pessimistic",
    tie_rule=tied_under(truncate_to_decimals(5)),
    competes=in_train,
    self_counting="raw",
    framework_metrics=AMPLIGRAPH.framework_metrics,
    tie_note="AmpliGraph 1 treats scores with the same hundred-thousandths as ties",
)


@dataclass(frozen=True)
class ReversedSign(FrameworkQuirk):
    """OpenKE takes the lowest score for the best, also for RESCAL with MarginLoss, which gives facts high scores."""

    cause: ClassVar[str] = "sign"
    note: ClassVar[str] = (
        "OpenKE ranks a RESCAL trained with its MarginLoss in reverse: the least plausible candidate comes first."
    )

    def applies_to(self, scorer: Aligned) -> bool:
        return isinstance(scorer.source, Checkpoint) and scorer.source.lower_is_better

    def adjust(self, ranked: Ranked, task: RankingTask, scorer: Aligned, tie_rule: TieRule) -> Ranked:
        return ranked._replace(scores=-ranked.scores, filtered=_reverse(ranked.filtered), raw=_reverse(ranked.raw))


def _reverse(counts: RankCounts) -> RankCounts:
    return replace(counts, greater=counts.candidates - 1 - counts.greater - counts.tied)


OPENKE = Protocol(
    name="openke",
    summary="optimistic ranks; mean of head and tail means, summed in float32; raw and filtered",
    ties="optimistic",
    quirks=(ReversedSign(),),
    repeats="each",
    side_aggregation="apart",
    mean=running32,
    order=("relation", "head", "tail"),  # it sorts its test triples
    framework_metrics=named(
        "{side}({setting}) {metric}",
        setting={"raw": "raw", "filter": "filtered"},
        side={"l": "head", "r": "tail", "averaged": "both"},
        metric={"MRR": "mrr", "MR": "mr", **hits("hit@{}", 10, 3, 1)},
    ),
    text="{:f}".format,
    tie_note="OpenKE counts no tie against the answer",
)
