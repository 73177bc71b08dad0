"""The RotatE code: an answer's place in an unstable sort; all ranks of both sides pooled."""

from __future__ import annotations

from kgeval.protocols.framework_metric import hits, named
from kgeval.protocols.protocol import Protocol

ROTATE = Protocol(
    name="rotate",
    summary="the place in an unstable sort (ties: their mean); both sides pooled",
    repeats="each",
    framework_metrics=named("{metric}", metric={"MRR": "mrr", "MR": "mr", **hits("HITS@{}", 1, 3, 10)}),
    text="{:f}".format,
    tie_note="The RotatE code leaves their order to an unstable sort; here they take the mean of their ranks",
)
