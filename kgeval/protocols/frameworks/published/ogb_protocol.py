"""Open Graph Benchmark, ogbl-wikikg2 and ogbl-biokg: realistic ranks among its own negatives, in float32."""

from kgeval.protocols.filters import NOTHING
from kgeval.protocols.framework_means import float32
from kgeval.protocols.framework_metric import FrameworkMetric
from kgeval.protocols.protocol import Protocol
from kgeval.protocols.protocol_candidates import fixed_negatives

OGB = Protocol(
    name="ogb",
    summary="realistic ranks in float32 among the benchmark's own negatives as they are listed; nothing is filtered",
    filter=NOTHING,
    corruption=fixed_negatives,
    repeats="once",  # a repeated triple has another list of negatives each time, of which the first is ranked
    mean=float32,
    framework_metrics=(
        FrameworkMetric("mrr_list", "mrr"),
        *(FrameworkMetric(f"hits@{k}_list", f"hits@{k}") for k in (1, 3, 10)),
    ),
    text="{:f}".format,  # as its examples log them
)
