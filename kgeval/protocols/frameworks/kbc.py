"""facebookresearch/kbc: all ties count; only entities up to the last one of train compete; float32 means."""

from __future__ import annotations

from dataclasses import replace

from kgeval.metrics.names import Part
from kgeval.protocols.framework_metric import FrameworkMetric, float32
from kgeval.protocols.protocol import Protocol
from kgeval.protocols.protocol_candidates import up_to_the_last_of_train

_METRICS = {"MRR": "mrr", **{f"hits@{k}": f"hits@{k}" for k in (1, 3, 10)}}

_SIDES: dict[str, Part] = {"": "both", " rhs": "tail", " lhs": "head"}

KBC = Protocol(
    name="kbc",
    summary="pessimistic ranks; ids up to the largest of train compete; the mean of the sides' float32 means",
    ties="pessimistic",
    competes=up_to_the_last_of_train,
    repeats="each",
    side_aggregation="apart",
    mean=float32,
    framework_metrics=tuple(
        FrameworkMetric(
            name + part, metric, side, text=None if metric == "mrr" else "{:.4f}".format
        )  # hits are a tensor
        for part, side in _SIDES.items()
        for name, metric in _METRICS.items()
    ),
    tie_note="kbc counts every tie against the answer",
)


TKBC = replace(
    KBC,
    name="tkbc",
    summary="of temporal graphs: as kbc, filtered at the same time; pessimistic ranks, the mean of the sides' means",
    tie_note="tkbc counts every tie against the answer",
)
