"""TorchKGE: all ties count; a mean for each side in float32, and the mean of both; three decimals are printed."""

from __future__ import annotations

from kgeval.data.triples import SIDES
from kgeval.protocols.framework_metric import FrameworkMetric, Setting, float32_then_64
from kgeval.protocols.protocol import Protocol

_METRICS = {"mean_rank": "mr", "mrr": "mrr", **{f"hit_at_{k}": f"hits@{k}" for k in (1, 3, 10)}}

_SETTINGS: tuple[Setting, ...] = ("raw", "filtered")


TORCHKGE = Protocol(
    name="torchkge",
    summary="pessimistic ranks; the mean of the sides' float32 means; every metric raw and filtered",
    ties="pessimistic",
    repeats="each",
    side_aggregation="apart",
    predicts_relations=True,
    mean=float32_then_64,
    framework_metrics=tuple(
        # A mean rank is printed without its fraction.
        FrameworkMetric(
            f"{name}, {setting}",
            metric,
            setting=setting,
            text=(lambda rank: str(int(rank))) if metric == "mr" else None,
        )
        for name, metric in _METRICS.items()
        for setting in _SETTINGS
    )
    + tuple(
        FrameworkMetric(f"hit_at_{k}_{side}s, {setting}", f"hits@{k}", side, setting)
        for side in SIDES
        for k in (1, 3, 10)
        for setting in _SETTINGS
    )
    # Those of its RelationPredictionEvaluator, which are called as those of links.
    + tuple(
        FrameworkMetric(f"relations: {name}, {setting}", metric, "relation", setting)
        for name, metric in _METRICS.items()
        for setting in _SETTINGS
    ),
    text=lambda value: str(round(value, 3)),
    tie_note="TorchKGE counts every tie against the answer",
)
