"""LibKGE: scores tie where torch.isclose says so, and half of the ties, rounded up, count against the answer.

The filter is train, valid and the evaluated split (``filter_splits``). Where it lacks test, every filtered metric is
also computed with test in the filter (``filter_with_test``).
"""

from __future__ import annotations

from kgeval.protocols.framework_metric import histogram32, hits, named
from kgeval.protocols.protocol import Protocol
from kgeval.ranking.tie_rules import isclose_ties

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
    tie_note="LibKGE takes scores within its tolerance for ties",
)
