"""A metric of ranks: the mean of their logarithms."""

import numpy as np

from kgeval.metrics.metric import Metric

MEAN_LOG_RANK = Metric(
    name="mean-log-rank",
    title="mean logarithm of the ranks",
    formula="Σ log₂ r / n",
    source="kgeval-foreign",
    lowest=0,
    highest=np.inf,
    increasing=False,
    compute=lambda ranks, k: ranks.mean(np.log2(ranks.values)),
)
