"""facebookresearch/kbc: all ties count; only entities up to the last one of train compete; float32 means."""

from __future__ import annotations

from dataclasses import replace

from kgeval.protocols.framework_metric import float32, hits, named
from kgeval.protocols.protocol import Protocol
from kgeval.protocols.protocol_candidates import up_to_the_last_of_train

KBC = Protocol(
    name="kbc",
    summary="pessimistic ranks; ids up to the largest of train compete; the mean of the sides' float32 means",
    ties="pessimistic",
    competes=up_to_the_last_of_train,
    repeats="each",
    side_aggregation="apart",
    mean=float32,
    framework_metrics=named(
        "{metric}{side}",
        side={"": "both", " rhs": "tail", " lhs": "head"},
        metric={"MRR": "mrr", **hits("hits@{}", 1, 3, 10)},
    ),
    text="{:.4f}".format,  # hits are a tensor
    texts=dict.fromkeys(("MRR", "MRR rhs", "MRR lhs"), repr),
    tie_note="kbc counts every tie against the answer",
)


TKBC = replace(
    KBC,
    name="tkbc",
    summary="of temporal graphs: as kbc, filtered at the same time; pessimistic ranks, the mean of the sides' means",
    tie_note="tkbc counts every tie against the answer",
)
