"""The metrics, one room for each kind of data: ranks, ranked lists, labels, confidences; and functions of plain arrays.

``Intervals`` say what is drawn again in ``kgeval.summarize``, and ``interval_over_seeds`` draws training runs too. The
other public functions take plain arrays, for rankings that were made elsewhere; ``ScoredLabels`` holds plain arrays of
scores and labels, of which ``kgeval.summarize`` computes metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgeval.discovery import on_first_use

if TYPE_CHECKING:
    from kgeval.metrics.confidences.rmse import rmse as rmse
    from kgeval.metrics.intervals.interval import Interval as Interval
    from kgeval.metrics.intervals.interval import Intervals as Intervals
    from kgeval.metrics.intervals.over_seeds import interval_over_seeds as interval_over_seeds
    from kgeval.metrics.labels.scored_labels import ScoredLabels as ScoredLabels
    from kgeval.metrics.lists.average_precision import average_precision as average_precision
    from kgeval.metrics.lists.gain import cumulative_gain as cumulative_gain
    from kgeval.metrics.lists.gain import dcg as dcg
    from kgeval.metrics.lists.gain import ndcg as ndcg
    from kgeval.metrics.lists.precision_recall import f1_at_k as f1_at_k
    from kgeval.metrics.lists.precision_recall import precision_at_k as precision_at_k
    from kgeval.metrics.lists.precision_recall import recall_at_k as recall_at_k
    from kgeval.metrics.ranks.classic import hits_at_k as hits_at_k
    from kgeval.metrics.ranks.classic import mean_reciprocal_rank as mean_reciprocal_rank

_HOMES = {
    "Interval": "intervals.interval",
    "Intervals": "intervals.interval",
    "ScoredLabels": "labels.scored_labels",
    "average_precision": "lists.average_precision",
    "cumulative_gain": "lists.gain",
    "dcg": "lists.gain",
    "f1_at_k": "lists.precision_recall",
    "hits_at_k": "ranks.classic",
    "mean_reciprocal_rank": "ranks.classic",
    "interval_over_seeds": "intervals.over_seeds",
    "ndcg": "lists.gain",
    "precision_at_k": "lists.precision_recall",
    "recall_at_k": "lists.precision_recall",
    "rmse": "confidences.rmse",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
