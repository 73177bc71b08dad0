"""Protocols of publications: Bordes et al. (2013), KB2E, the Open Graph Benchmark, Sun et al. (2020)."""

from __future__ import annotations

from kgeval.protocols.framework_metric import NOTHING, float32, hits, named
from kgeval.protocols.protocol import Protocol
from kgeval.protocols.protocol_candidates import fixed_negatives

RAW = Protocol(
    name="bordes-raw",
    summary="nothing is filtered; realistic ranks; mean rank and hits at 10 (Bordes et al., 2013)",
    filter=NOTHING,
    metrics=("mr", "hits@10", "count"),
)

FILTERED = Protocol(
    name="bordes-filtered",
    summary="filtered by train, valid and test; realistic ranks; mean rank and hits at 10 (Bordes et al., 2013)",
    metrics=("mr", "hits@10", "count"),
)

KB2E = Protocol(
    name="kb2e",
    summary="the place in an unstable sort (ties: their mean); mean rank and hits at 10 of each side, raw and filtered",
    repeats="each",
    metrics=("mr", "hits@10", "count"),
    framework_metrics=named(
        "{side} {metric}_{setting}",
        side={"left": "head", "right": "tail"},
        setting={"raw": "raw", "filtered": "filtered"},
        metric={"mean_rank": "mr", "hits@10": "hits@10"},
    ),
    text="{:g}".format,
    tie_note="KB2E leaves their order to an unstable sort; here they take the mean of their ranks",
)


OGB = Protocol(
    name="ogb",
    summary="realistic ranks in float32 among the benchmark's own negatives as they are listed; nothing is filtered",
    filter=NOTHING,
    corruption=fixed_negatives,
    repeats="once",  # a repeated triple has another list of negatives each time, of which the first is ranked
    mean=float32,
    framework_metrics=named("{metric}_list", metric={"mrr": "mrr", **hits("hits@{}", 1, 3, 10)}),
    text="{:f}".format,  # as its examples log them
)


RANDOM = Protocol(
    name="sun-random",
    summary="filtered by train, valid and test; ties are broken at random, keyed by seed and triple (Sun et al., 2020)",
    ties="random",
    metrics=("mrr", "mr", "hits@1", "hits@3", "hits@10", "count"),
)
