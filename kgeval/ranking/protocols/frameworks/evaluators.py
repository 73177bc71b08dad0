"""The evaluators of frameworks, by what they do with ties, each a ``Protocol``.

First those that count every tie against the answer (kbc, PyTorch-BigGraph, ULTRA, NBFNet, TorchKGE, Marius, DGL-KE);
then those that decide otherwise what a tie is (LibKGE and AmpliGraph round scores, for OpenKE nothing ties) or how many
count (InGram); then those that sort all candidates, and take an answer's place in the list for its rank. A rule for
some models only is a ``FrameworkQuirk`` above the protocol that has it. ``protocol.protocols()`` finds the protocols.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np

from kgeval.base.arrays import BoolArray
from kgeval.base.notes import Note
from kgeval.data.dataset import Dataset
from kgeval.data.layouts.inductive import STEMS as INDUCTIVE
from kgeval.data.triples import Side
from kgeval.models.aligned import Aligned
from kgeval.models.checkpoints import Checkpoint
from kgeval.models.families.bilinear import RESCAL, SimplE
from kgeval.models.families.projections import TransR
from kgeval.models.mapped import Reciprocal
from kgeval.models.scorer import as_float64
from kgeval.ranking.protocols.framework_metric import (
    FrameworkMetric,
    float32,
    float32_then_64,
    histogram32,
    hits,
    named,
    running32,
    sum32,
)
from kgeval.ranking.protocols.protocol import EVALUATED_SPLIT, NOTHING, TRAIN_ALONE, Protocol
from kgeval.ranking.ranking_task import RankCounts, Ranked, RankingTask
from kgeval.ranking.rules import (
    FrameworkQuirk,
    TieRule,
    clamp,
    isclose_ties,
    sigmoid32,
    tied_under,
    truncate_to_decimals,
)


def in_train(dataset: Dataset) -> BoolArray:
    """Return whether each entity occurs in train; bool[entity]."""
    occurs = np.zeros(len(dataset.entities), np.bool_)
    occurs[dataset.train.heads] = occurs[dataset.train.tails] = True
    return occurs


def up_to_the_last_of_train(dataset: Dataset) -> BoolArray:
    """Return whether each entity's label is at most the largest label in train; bool[entity]."""
    last = max((dataset.entities[int(index)] for index in np.flatnonzero(in_train(dataset))), default="")
    return np.array([label <= last for label in dataset.entities], np.bool_)


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
    framework_metrics=named(metric={"pos_rank": "mr", "mrr": "mrr", **hits("r{}", 1, 10, 50)}),
    text="{:.6g}".format,
    tie_note="PyTorch-BigGraph counts every tie against the answer",
)

# Its inductive datasets of GraIL merge the validation and test triples of the inference graph (``merge_valid_test``, on
# by default); its sparse graphs of DacKGR are evaluated by tails (``mrr-tail``).
ULTRA = _pessimistic(
    name="ultra",
    summary="pessimistic ranks; float32 means; valid and test of GraIL are one split; of DacKGR only tails",
    of_layout={"grail": {"split": "valid+test"}, "dackgr": {"sides": ("tail",)}},
    mean=float32,
    metrics=("mrr", "hits@1", "hits@3", "hits@10", "hits@10_50", "mr"),
    framework_metrics=named(metric={"mr": "mr", "mrr": "mrr", **hits("hits@{}", 1, 3, 10), "hits@10_50": "hits@10_50"}),
    text="{:g}".format,
    tie_note="ULTRA counts every tie against the answer",
)

# Without ``filtered_data`` NBFNet's inductive test filters by the graph that the model sees.
NBFNET = replace(
    ULTRA,
    name="nbfnet",
    summary="pessimistic ranks; float32 means; inductive datasets are filtered by the inference graph alone",
    of_layout={layout: {"filter": TRAIN_ALONE} for layout in (*INDUCTIVE, "inductive")},
    tie_note="NBFNet counts every tie against the answer",
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
        # Metrics of its RelationPredictionEvaluator, which have the names of the metrics of links.
        *named("relations: {metric}, {setting}", side={"": "relation"}, metric=_METRICS, setting=_SETTINGS),
    ),
    text=lambda value: str(round(value, 3)),
    # A mean rank of entities is printed without its fraction.
    texts=dict.fromkeys(("mean_rank, raw", "mean_rank, filtered"), lambda rank: str(int(rank))),
    tie_note="TorchKGE counts every tie against the answer",
)


class TailsOnly(FrameworkQuirk):
    """Heads are predicted as tails of the inverse relation, so a model without inverse relations predicts none."""

    cause: ClassVar[str] = "sides"
    note: ClassVar[str] = Note("sides", "Marius predicts tails only, with a model that has no inverse relations.")

    def applies_to(self, scorer: Aligned) -> bool:
        return not isinstance(scorer.scorer, Reciprocal)

    def predicts_side(self, side: Side) -> bool:
        return side == "tail"


MARIUS = _pessimistic(
    name="marius",
    summary="pessimistic ranks; filtered by all edges; models without inverse relations rank only tails",
    self_counting="raw",
    quirks=(TailsOnly(),),
    framework_metrics=named(metric={"Mean Rank": "mr", "MRR": "mrr", **hits("Hits@{}", 1, 3, 5, 10, 50, 100)}),
    text="{:f}".format,
    tie_note="Marius counts every tie against the answer",
)


class TailsAsHeads(FrameworkQuirk):
    """An answer is scored as (h, r, t), its competitors as (t′, r, h), which swaps heads and tails."""

    cause: ClassVar[str] = "tail candidates"
    note: ClassVar[str] = Note(
        "scores",
        "DGL-KE scores the candidates for the tail of a RESCAL or TransR as heads of the swapped triple, "
        "but not the answer: its tail ranks compare scores of two models.",
    )

    def applies_to(self, scorer: Aligned) -> bool:
        return isinstance(family(scorer), RESCAL | TransR)

    def adjust(self, ranked: Ranked, task: RankingTask, scorer: Aligned, tie_rule: TieRule) -> Ranked:
        if task.queries.side == "head":
            return ranked
        lowest, highest = (end[:, None] for end in tie_rule(ranked.scores))
        raw, filtered = (np.empty((2, len(lowest)), np.int64) for _ in range(2))
        for query in range(len(task.queries)):
            part, span = task[query : query + 1], slice(*task.queries.offsets[query : query + 2])
            queries, answers = replace(part.queries, side="head"), np.flatnonzero(part.answers >= 0)
            scores = as_float64(scorer.scores(queries, part.candidates.ids_of(0)), "the scorer")
            counted = np.stack([scores > highest[span], (scores >= lowest[span]) & (scores <= highest[span])])
            # The answer is left out by its position: its own score comes from the other direction of the model.
            counted[:, answers, part.answers[answers]] = False
            raw[:, span] = counted.sum(axis=2)
            counted[:, :, part.known.ids] = False
            filtered[:, span] = counted.sum(axis=2)
        counts = RankCounts(filtered[0], filtered[1], task.filtered_candidates)
        return ranked._replace(filtered=counts, raw=RankCounts(raw[0], raw[1], task.raw_candidates))


class Clamped(FrameworkQuirk):
    """The scores of SimplE are clamped to −20 … 20, so all scores beyond one end tie."""

    cause: ClassVar[str] = "clamp"
    note: ClassVar[str] = Note(
        "ties", "DGL-KE clamps the scores of a SimplE to -20 … 20; all scores beyond an end tie."
    )

    def applies_to(self, scorer: Aligned) -> bool:
        return isinstance(family(scorer), SimplE)

    def tie_rule(self, rule: TieRule) -> TieRule:
        return tied_under(clamp(20.0))


def family(scorer: Aligned) -> object:
    """Find the family of a model, which some quirks concern; the model itself where it has none."""
    model = getattr(scorer.source, "model", scorer.source)
    return getattr(model, "family", model)


DGLKE = _pessimistic(
    name="dglke",
    summary="pessimistic ranks; both sides pooled; in the raw setting the answer is also a candidate",
    self_counting="raw",
    quirks=(TailsAsHeads(), Clamped()),
    framework_metrics=named(metric={"MRR": "mrr", "MR": "mr", **hits("HITS@{}", 1, 3, 10)}),
    tie_note="DGL-KE counts every tie against the answer",
)

# The filter is train, valid and the evaluated split (``filter_splits``). Where it lacks test, every filtered metric is
# also computed with test in the filter (``filter_with_test``).
LIBKGE = Protocol(
    name="libkge",
    summary="scores within 1e-5 + 1e-4 |s| tie; the mean of tied ranks is rounded up; float32 histogram",
    ties="rounded",
    filter={"train": ("train", "valid"), "valid": ("train", "valid"), "test": ("train", "valid", "test")},
    second="with_test",
    tie_rule=isclose_ties(relative=1e-4, absolute=1e-5),
    repeats="each",
    mean=histogram32,
    framework_metrics=named(
        "{metric}{setting}{side}",
        # Filtered metrics come first, as the head of the table says.
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
    framework_metrics=named(metric={"mr_score": "mr", "mrr_score": "mrr", **hits("hits_at_n_score({})", 1, 3, 10)}),
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
AMPLIGRAPH_1 = replace(
    AMPLIGRAPH,
    name="ampligraph1",
    summary="AmpliGraph 1.3.2 to 1.4: pessimistic ranks; scores are cut to 5 decimals",
    tie_rule=tied_under(truncate_to_decimals(5)),
    self_counting="raw",
    tie_note="AmpliGraph 1 treats scores with the same hundred-thousandths as ties",
)


# InGram's filter has the answer too: only scores of other candidates can be at the threshold (``get_rank``).
INGRAM = Protocol(
    name="ingram",
    summary="half of the ties count, rounded down; both sides pooled",
    ties="rounded-down",
    repeats="each",
    framework_metrics=named(metric={"MR": "mr", "MRR": "mrr", **hits("Hits@{}", 10, 1)}),
    text="{:.3f}".format,
    texts={"MR": "{:.1f}".format},
    tie_note="InGram counts half of the ties against the answer, rounded down",
)


class ReversedSign(FrameworkQuirk):
    """OpenKE takes the lowest score for the best, also for RESCAL with MarginLoss, which gives facts high scores."""

    cause: ClassVar[str] = "sign"
    note: ClassVar[str] = Note(
        "chance",
        "OpenKE ranks a RESCAL trained with its MarginLoss in reverse: the least plausible candidate comes first.",
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
"""the labels of the first two rows of a model of the ConvE code"""


class Tokens(FrameworkQuirk):
    """Two tokens compete with the answers: the empty token, and the token of unknown words (OOV).

    The empty token always competes. The OOV token pads the lists of known answers, so it is filtered wherever a list is
    shorter than the longest one of its side.
    """

    cause: ClassVar[str] = "tokens"
    compares_queries: ClassVar[bool] = True
    note: ClassVar[str] = Note(
        "candidates",
        "In the ConvE code the tokens OOV and '' compete with the answers, although they are not entities.",
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
        lowest, highest = (end[:, None] for end in tie_rule(ranked.scores))

        def of_tokens_that(compete: BoolArray) -> RankCounts:
            above = (compete & (scores > highest)).sum(axis=1)
            reaching = (compete & (scores >= lowest)).sum(axis=1)
            return RankCounts(above, reaching - above, compete.sum(axis=1) + 1)

        raw = ranked.raw + of_tokens_that(np.ones_like(competes))
        return ranked._replace(filtered=ranked.filtered + of_tokens_that(competes), raw=raw)


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
    framework_metrics=named(metric={**hits("Hits @{}", 10, 3, 1), "Mean rank": "mr", "Mean reciprocal rank": "mrr"}),
)

ROTATE = _repeating(
    name="rotate",
    summary="place in an unstable sort (ties: mean place); both sides pooled",
    framework_metrics=named(metric={"MRR": "mrr", "MR": "mr", **hits("HITS@{}", 1, 3, 10)}),
    text="{:f}".format,
    tie_note="The RotatE code leaves the order of ties to an unstable sort; kgeval takes the mean of their ranks",
)

DICEE = _repeating(
    name="dicee",
    summary="place in a sort (ties: mean place); heads are tails of inverse relations; both sides pooled",
    framework_metrics=named(metric={**hits("H@{}", 1, 3, 10), "MRR": "mrr"}),
    tie_note=(
        "dice-embeddings leaves the order of ties to a sort (unless configuration.json has another eval_tie_policy); "
        "kgeval takes the mean of their ranks"
    ),
)

_FILTERS = {"raw_ent": "raw", "filter_ent": "filtered", "static_ent": "static"}

# RE-GCN filters by the facts of the evaluated split at the query's time (``load_all_answers_for_time_filter``). The
# static filter is that of TKG-Forecasting-Evaluation (Gastinger et al., 2023), which evaluates RE-GCN, CEN and others
# by code derived from RE-GCN's (``load_all_answers_for_filter``: facts of all splits).
REGCN = _repeating(
    name="regcn",
    summary="for temporal graphs: raw, time-aware by the evaluated split, static; place in a sort (ties: mean place)",
    filter=EVALUATED_SPLIT,
    second="static",
    mean=float32,
    framework_metrics=(
        *named("MRR ({setting})", setting=_FILTERS, metric={"": "mrr"}),
        *named("Hits ({setting}) @ {metric}", setting=_FILTERS, metric=hits("{}", 1, 3, 10)),
    ),
    text="{:.6f}".format,
    tie_note="RE-GCN leaves the order of ties to an unstable sort; kgeval takes the mean of their ranks",
)

PYG = _repeating(
    name="pyg",
    summary="only tails; not filtered; place in an unstable sort (ties: mean place); mean rank counted from 0",
    filter=NOTHING,
    sides=("tail",),
    mean=sum32,
    framework_metrics=(
        FrameworkMetric("mean_rank", "mr", "tail", from_zero=True),
        *named(side={"": "tail"}, metric={"mrr": "mrr", **hits("hits@{}", 1, 3, 10)}),
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
