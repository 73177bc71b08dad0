"""dice-embeddings: an answer's place in a sort of its scores; the test triples and their inverses, tails only."""

from __future__ import annotations

from kgeval.protocols.framework_metric import hits, named
from kgeval.protocols.protocol import Protocol

DICEE = Protocol(
    name="dicee",
    summary="the place in a sort (ties: their mean); a head is the tail of the inverse relation; pooled",
    repeats="each",
    framework_metrics=named("{metric}", metric={**hits("H@{}", 1, 3, 10), "MRR": "mrr"}),
    tie_note="dice-embeddings leaves their order to a sort; here they take the mean of their ranks",
)
