"""dice-embeddings: an answer's place in a sort of its scores; the test triples and their inverses, tails only."""

from __future__ import annotations

from kgeval.protocols.framework_metric import FrameworkMetric
from kgeval.protocols.protocol import Protocol

DICEE = Protocol(
    name="dicee",
    summary="the place in a sort (ties: their mean); a head is the tail of the inverse relation; pooled",
    repeats="each",
    framework_metrics=(*(FrameworkMetric(f"H@{k}", f"hits@{k}") for k in (1, 3, 10)), FrameworkMetric("MRR", "mrr")),
    tie_note="dice-embeddings leaves their order to a sort; here they take the mean of their ranks",
)
