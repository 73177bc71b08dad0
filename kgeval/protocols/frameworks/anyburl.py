"""AnyBURL: an answer's place in the list of its triple; one that is not among the first hundred counts nothing.

The evaluator (``Eval``, ``HitsAtK``) walks down each list in its order, whatever the confidences, and passes over known
answers. It reads the first 100 of each list (``TOP_K``); an answer that is not there has the reciprocal rank 0.
"""

from __future__ import annotations

from kgeval.protocols.framework_metric import hits, named
from kgeval.protocols.protocol import Protocol

ANYBURL = Protocol(
    name="anyburl",
    summary="the place in the list of each triple, in its order; 0 for answers not among the first 100",
    listed=True,
    cutoff=100,
    repeats="each",
    framework_metrics=named(
        "{side} {metric}",
        side={"ALL": "both", "HEAD only": "head", "TAIL only": "tail"},
        metric={**hits("HITS-AT-{}", 1, 3, 10), "MRR": "mrr"},
    ),
    text="{:.4f}".format,
)
