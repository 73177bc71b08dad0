"""LibKGE: scores tie where torch.isclose says so, and half of the ties, rounded up, count against the answer.

The filter is train, valid and the evaluated split (``filter_splits``). Where it lacks test, every filtered metric is
also computed with test in the filter (``filter_with_test``).
"""

from __future__ import annotations

from kgeval.metrics.names import Part
from kgeval.protocols.framework_metric import FrameworkMetric, Setting, histogram32
from kgeval.protocols.protocol import Protocol
from kgeval.ranking.tie_rules import isclose_ties

_METRICS = {
    "mean_rank": "mr",
    "mean_reciprocal_rank": "mrr",
    **{f"hits_at_{k}": f"hits@{k}" for k in (1, 3, 10, 50, 100, 200, 300, 400, 500, 1000)},
}

_SIDES: dict[str, Part] = {"": "both", "_head": "head", "_tail": "tail"}
# What is read first is filtered, as the head of the table says.
_SETTINGS: dict[str, Setting] = {"_filtered": "filtered", "_filtered_with_test": "with_test", "": "raw"}

LIBKGE = Protocol(
    name="libkge",
    summary="scores within 1e-5 + 1e-4 |s| tie; the mean of tied ranks is rounded up; float32 histogram",
    ties="rounded",
    filter={"train": ("train", "valid"), "valid": ("train", "valid"), "test": ("train", "valid", "test")},
    with_test=True,
    tie_rule=isclose_ties(relative=1e-4, absolute=1e-5),
    repeats="each",
    mean=histogram32,
    framework_metrics=tuple(
        FrameworkMetric(name + filtered + part, metric, side, setting, drop_k_above_candidates=True)
        for filtered, setting in _SETTINGS.items()
        for part, side in _SIDES.items()
        for name, metric in _METRICS.items()
    ),
    tie_note="LibKGE takes scores within its tolerance for ties",
)
