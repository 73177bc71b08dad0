"""TorchKGE: all ties count; a mean for each side in float32, and the mean of both; three decimals are printed."""

from __future__ import annotations

from kgeval.protocols.framework_metric import float32_then_64, hits, named
from kgeval.protocols.protocol import Protocol

_HITS = hits("hit_at_{}", 1, 3, 10)
_METRICS = {"mean_rank": "mr", "mrr": "mrr", **_HITS}
_SETTINGS = {"raw": "raw", "filtered": "filtered"}

TORCHKGE = Protocol(
    name="torchkge",
    summary="pessimistic ranks; the mean of the sides' float32 means; every metric raw and filtered",
    ties="pessimistic",
    repeats="each",
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
