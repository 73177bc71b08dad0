"""Frameworks that take an answer's place in a sorted list: ConvE, TuckER, RotatE, dice-embeddings, PyG and AnyBURL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from kgeval.arrays import BoolArray, Float64Array
from kgeval.protocols.framework_metric import NOTHING, FrameworkMetric, hits, named, sum32
from kgeval.protocols.protocol import Protocol
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.engine import Ranked
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.rules import FrameworkQuirk
from kgeval.ranking.tie_rules import TieRule, sigmoid32, tied_under
from kgeval.scorers.adapters.score_arrays import as_float64
from kgeval.scorers.aligned import Aligned


@dataclass(frozen=True)
class KnownAnswersKeepZero(FrameworkQuirk):
    """Known answers get probability 0.0, and tie with an answer whose float32 sigmoid is 0.0 (score below −88.7)."""

    cause: ClassVar[str] = "zeroed answers"

    def applies_to(self, scorer: Aligned) -> bool:
        return True

    def adjust(self, ranked: Ranked, task: RankingTask, scorer: Aligned, tie_rule: TieRule) -> Ranked:
        hidden = ranked.raw.candidates - ranked.filtered.candidates
        tied = np.where(sigmoid32(ranked.scores) == 0, hidden, 0)
        return ranked._replace(filtered=ranked.filtered + RankCounts(np.zeros_like(tied), tied, tied + 1))


TOKENS = ("OOV", "")
"""the labels of its first two rows"""


@dataclass(frozen=True)
class Tokens(FrameworkQuirk):
    """Two tokens compete with the answers: the empty token, and the token of unknown words (OOV).

    The empty token always competes. The OOV token pads the lists of known answers, so it is filtered wherever a list is
    shorter than the longest one of its side.
    """

    cause: ClassVar[str] = "tokens"
    compares_queries: ClassVar[bool] = True
    note: ClassVar[str] = (
        "In the ConvE code the tokens OOV and '' compete with the answers, although they are not entities."
    )

    def applies_to(self, scorer: Aligned) -> bool:
        labels = getattr(scorer.source, "entities", None)
        return labels is not None and len(labels) > 1 and (labels[0], labels[1]) == TOKENS

    def adjust(self, ranked: Ranked, task: RankingTask, scorer: Aligned, tie_rule: TieRule) -> Ranked:
        queries = task.queries
        of_tokens = scorer.scorer.scores(scorer.map_queries(queries), np.arange(len(TOKENS)))
        scores = as_float64(of_tokens, "the scorer")[queries.owners]
        lengths = task.known.lengths
        longest = (lengths == lengths.max(initial=0))[queries.owners]
        competes = np.stack([longest, np.ones_like(longest)], axis=1)
        ends = tie_rule(ranked.scores)
        filtered, raw = (
            _with_tokens(counts, scores, mask, *ends)
            for counts, mask in ((ranked.filtered, competes), (ranked.raw, np.ones_like(competes)))
        )
        return ranked._replace(filtered=filtered, raw=raw)


def _with_tokens(
    counts: RankCounts, scores: Float64Array, competes: BoolArray, lowest: Float64Array, highest: Float64Array
) -> RankCounts:
    above = (competes & (scores > highest[:, None])).sum(axis=1)
    reaching = (competes & (scores >= lowest[:, None])).sum(axis=1)
    return counts + RankCounts(above, reaching - above, competes.sum(axis=1) + 1)


_repeating = partial(Protocol, repeats="each")
_SIDES = {" left": "tail", " right": "head", "": "both"}

CONVE = _repeating(
    name="conve",
    summary="place in a sort of float32 sigmoids (ties: mean place); 'left' is the tail, 'right' the head",
    tie_rule=tied_under(sigmoid32),
    quirks=(Tokens(), KnownAnswersKeepZero()),
    framework_metrics=(
        *named("Hits{side} @{metric}", metric=hits("{}", *range(1, 11)), side=_SIDES),
        *named("{metric}{side}", metric={"Mean rank": "mr", "Mean reciprocal rank": "mrr"}, side=_SIDES),
    ),
    tie_note=(
        "These have the same float32 sigmoid (known answers get 0.0). The code leaves their order to a sort; kgeval "
        "takes the mean of their ranks"
    ),
)

BATCHED = replace(
    CONVE,
    name="conve-128",
    summary="as conve with its default --test-batch-size 128: the last, incomplete batch is left out",
    batch=128,
    repeats="once",  # the position of a repetition, and so its batch, is not known
)


TUCKER = replace(
    CONVE,
    name="tucker",
    summary="place in a sort of float32 sigmoids (ties: mean place); both sides pooled",
    quirks=(KnownAnswersKeepZero(),),
    framework_metrics=named(
        "{metric}", metric={**hits("Hits @{}", 10, 3, 1), "Mean rank": "mr", "Mean reciprocal rank": "mrr"}
    ),
)


ROTATE = _repeating(
    name="rotate",
    summary="place in an unstable sort (ties: mean place); both sides pooled",
    framework_metrics=named("{metric}", metric={"MRR": "mrr", "MR": "mr", **hits("HITS@{}", 1, 3, 10)}),
    text="{:f}".format,
    tie_note="The RotatE code leaves the order of ties to an unstable sort; kgeval takes the mean of their ranks",
)


DICEE = _repeating(
    name="dicee",
    summary="place in a sort (ties: mean place); heads are tails of inverse relations; both sides pooled",
    framework_metrics=named("{metric}", metric={**hits("H@{}", 1, 3, 10), "MRR": "mrr"}),
    tie_note=(
        "dice-embeddings leaves the order of ties to a sort (unless configuration.json has another eval_tie_policy); "
        "kgeval takes the mean of their ranks"
    ),
)


PYG = _repeating(
    name="pyg",
    summary="only tails; not filtered; place in an unstable sort (ties: mean place); mean rank counted from 0",
    filter=NOTHING,
    sides=("tail",),
    mean=sum32,
    framework_metrics=(
        FrameworkMetric("mean_rank", "mr", "tail", from_zero=True),
        *named("{metric}", side={"": "tail"}, metric={"mrr": "mrr", **hits("hits@{}", 1, 3, 10)}),
    ),
    tie_note="PyTorch Geometric leaves the order of ties to an unstable sort; kgeval takes the mean of their ranks",
)


# The evaluator (``Eval``, ``HitsAtK``) walks down each list in its order, whatever the confidences, and passes over
# known answers. It reads the first 100 of each list (``TOP_K``); an answer that is not there has the reciprocal rank 0.
ANYBURL = _repeating(
    name="anyburl",
    summary="place in the predicted list of each triple, in its order; 0 for answers not among the first 100",
    listed=True,
    cutoff=100,
    framework_metrics=named(
        "{side} {metric}",
        side={"ALL": "both", "HEAD only": "head", "TAIL only": "tail"},
        metric={**hits("HITS-AT-{}", 1, 3, 10), "MRR": "mrr"},
    ),
    text="{:.4f}".format,
)
