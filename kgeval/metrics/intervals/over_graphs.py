"""Over graphs: the mean of a metric over several graphs, each of which counts once, and its interval.

``analysis/comparison/over_graphs.py`` calls ``mean_over_graphs`` for each group of graphs (datasets) that a
configuration names.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from kgeval.base.errors import counted
from kgeval.metrics.intervals.interval import FEWEST_SEEDS
from kgeval.metrics.intervals.over_seeds import interval_of_mean
from kgeval.metrics.intervals.selection_intervals import attempt
from kgeval.metrics.names import MetricName
from kgeval.metrics.summary import Value


def mean_over_graphs(metric: MetricName, values: Sequence[float], *, level: float = 0.95) -> Value:
    """Compute the unweighted mean over graphs, with Student's interval of n − 1 degrees of freedom for n graphs.

    The interval is of the mean over all graphs of which these are a random sample. It says how much the mean depends on
    a few graphs, and not how certain the value on any one graph is.

    >>> from kgeval.metrics.names import parse
    >>> mean = mean_over_graphs(parse("mrr"), [0.3, 0.4, 0.5])
    >>> round(mean.value, 6), str(mean.interval)
    (0.4, '0.152–0.648')
    >>> mean_over_graphs(parse("mrr"), [0.3, 0.4]).reason
    '2 graphs: an interval over graphs needs at least 3'
    """
    if not len(values):
        return Value(metric, reason="no graph has a value of every model")
    mean, graphs = Value(metric, float(np.mean(values))), counted(len(values), "graph")
    if len(values) < FEWEST_SEEDS:
        return mean._replace(reason=f"{graphs}: an interval over graphs needs at least {FEWEST_SEEDS}")
    return mean.with_interval(attempt(partial(interval_of_mean, metric, values, level, "graph")))
