"""The RotatE code: an answer's place in an unstable sort; all ranks of both sides pooled."""

from __future__ import annotations

from kgeval.protocols.framework_metric import FrameworkMetric
from kgeval.protocols.protocol import Protocol

ROTATE = Protocol(
    name="rotate",
    summary="the place in an unstable sort (ties: their mean); both sides pooled",
    repeats="each",
    framework_metrics=(
        FrameworkMetric("MRR", "mrr"),
        FrameworkMetric("MR", "mr"),
        *(FrameworkMetric(f"HITS@{k}", f"hits@{k}") for k in (1, 3, 10)),
    ),
    text="{:f}".format,
    tie_note="The RotatE code leaves their order to an unstable sort; here they take the mean of their ranks",
)
