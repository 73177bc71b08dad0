"""PyTorch Geometric's ``KGEModel.test``: tails only, nothing is filtered, and the mean rank is counted from 0."""

from __future__ import annotations

from kgeval.protocols.framework_metric import NOTHING, FrameworkMetric, hits, named, sum32
from kgeval.protocols.protocol import Protocol

PYG = Protocol(
    name="pyg",
    summary="tails only, nothing filtered; the place in an unstable sort (ties: their mean); mean rank counted from 0",
    filter=NOTHING,
    sides=("tail",),
    repeats="each",
    mean=sum32,
    framework_metrics=(
        FrameworkMetric("mean_rank", "mr", "tail", from_zero=True),
        *named("{metric}", side={"": "tail"}, metric={"mrr": "mrr", **hits("hits@{}", 1, 3, 10)}),
    ),
    tie_note="PyTorch Geometric leaves their order to an unstable sort; here they take the mean of their ranks",
)
