"""The metrics: numbers of ranks, ranked lists, labels and confidences, with their intervals.

``summarize`` computes metrics of a table, of all rows or by groups. ``names.py`` reads the names of metrics,
``[side.][ties.][average.]name[@k]``. ``intervals`` has the interval of every metric, and estimates of a whole split.
The other public functions take plain arrays, for rankings that were made elsewhere; ``ScoredLabels`` holds plain arrays
of scores and labels.

Called by ``kgeval.analysis``, ``kgeval.reports`` and the user. No list names the metrics: ``metric.metrics()`` finds
each ``Metric`` in ``ranks``, ``lists``, ``labels`` or ``confidence_metrics.py``, so a new one is five lines there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgeval.base.first_use import on_first_use

if TYPE_CHECKING:
    from kgeval.metrics.confidence_metrics import mae as mae
    from kgeval.metrics.confidence_metrics import mse as mse
    from kgeval.metrics.confidence_metrics import rmse as rmse
    from kgeval.metrics.intervals.interval import Interval as Interval
    from kgeval.metrics.intervals.interval import Intervals as Intervals
    from kgeval.metrics.intervals.over_seeds import OverSeeds as OverSeeds
    from kgeval.metrics.intervals.over_seeds import interval_over_seeds as interval_over_seeds
    from kgeval.metrics.labels.scored_labels import ScoredLabels as ScoredLabels
    from kgeval.metrics.lists.gain import cumulative_gain as cumulative_gain
    from kgeval.metrics.lists.gain import dcg as dcg
    from kgeval.metrics.lists.gain import ndcg as ndcg
    from kgeval.metrics.lists.retrieval import average_precision as average_precision
    from kgeval.metrics.lists.retrieval import f1_at_k as f1_at_k
    from kgeval.metrics.lists.retrieval import precision_at_k as precision_at_k
    from kgeval.metrics.lists.retrieval import recall_at_k as recall_at_k
    from kgeval.metrics.ranks.rank_metrics import hits_at_k as hits_at_k
    from kgeval.metrics.ranks.rank_metrics import mean_reciprocal_rank as mean_reciprocal_rank

__getattr__, __dir__, __all__ = on_first_use(__name__)
