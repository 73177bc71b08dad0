"""PyTorch-BigGraph: all ties count; the sums of both sides are averaged."""

from __future__ import annotations

from kgeval.protocols.framework_metric import hits, named, sum32
from kgeval.protocols.protocol import Protocol

PBG = Protocol(
    name="pbg",
    summary="pessimistic ranks; the mean of the sides' means, of float32 sums; no hits at 3, a random AUC",
    ties="pessimistic",
    repeats="each",
    side_aggregation="apart",
    mean=sum32,
    framework_metrics=named("{metric}", metric={"pos_rank": "mr", "mrr": "mrr", **hits("r{}", 1, 10, 50)}),
    text="{:.6g}".format,
    tie_note="PyTorch-BigGraph counts every tie against the answer",
)
