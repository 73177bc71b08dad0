"""The metrics: pure functions of the kept ranks. Each file declares a family; a new metric is a new declaration.

The functions named here take plain arrays, for rankings that come from somewhere else; ``ScoredLabels`` holds plain
arrays of scores and labels, of which ``kgeval.summarize_labels`` computes the metrics of labelled triples.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgeval.metrics.ap import average_precision as average_precision
    from kgeval.metrics.classic import hits_at_k as hits_at_k
    from kgeval.metrics.classic import mean_reciprocal_rank as mean_reciprocal_rank
    from kgeval.metrics.deviation import rmse as rmse
    from kgeval.metrics.gain import cumulative_gain as cumulative_gain
    from kgeval.metrics.gain import dcg as dcg
    from kgeval.metrics.gain import ndcg as ndcg
    from kgeval.metrics.labelled import ScoredLabels as ScoredLabels
    from kgeval.metrics.precision import f1_at_k as f1_at_k
    from kgeval.metrics.precision import precision_at_k as precision_at_k
    from kgeval.metrics.precision import recall_at_k as recall_at_k

_HOMES = {
    "ScoredLabels": "labelled",
    "average_precision": "ap",
    "cumulative_gain": "gain",
    "dcg": "gain",
    "f1_at_k": "precision",
    "hits_at_k": "classic",
    "mean_reciprocal_rank": "classic",
    "ndcg": "gain",
    "precision_at_k": "precision",
    "recall_at_k": "precision",
    "rmse": "deviation",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kgeval.metrics' has no attribute {name!r}")
    return getattr(importlib.import_module(f"kgeval.metrics.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
