"""AnyBURL: an answer's place in the list of its triple; one that is not among the first hundred counts nothing.

The evaluator (``Eval``, ``HitsAtK``) walks down each list in its order, whatever the confidences, and passes over known
answers. It reads the first 100 of each list (``TOP_K``); an answer that is not there has the reciprocal rank 0.
"""

from __future__ import annotations

from kgeval.metrics.names import Part
from kgeval.protocols.framework_metric import FrameworkMetric
from kgeval.protocols.protocol import Protocol

_METRICS = {**{f"HITS-AT-{k}": f"hits@{k}" for k in (1, 3, 10)}, "MRR": "mrr"}

_SIDES: dict[str, Part] = {"ALL": "both", "HEAD only": "head", "TAIL only": "tail"}

ANYBURL = Protocol(
    name="anyburl",
    summary="the place in the list of each triple, in its order; 0 for answers not among the first 100",
    listed=True,
    cutoff=100,
    repeats="each",
    framework_metrics=tuple(
        FrameworkMetric(f"{part} {name}", metric, side)
        for part, side in _SIDES.items()
        for name, metric in _METRICS.items()
    ),
    text="{:.4f}".format,
)
