"""Over graphs: the mean of a metric over several graphs, each of which counts once, and its interval.

``kgeval.analysis`` shows such a mean for each group of graphs of a suite.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgeval.base.errors import counted
from kgeval.metrics.intervals.interval import FEWEST_SEEDS, NoInterval
from kgeval.metrics.intervals.over_seeds import student_interval
from kgeval.metrics.names import MetricName
from kgeval.metrics.summary import Value


def mean_over_graphs(metric: MetricName, values: Sequence[float], *, level: float = 0.95) -> Value:
    """Compute the unweighted mean over graphs, with Student's interval of n − 1 degrees of freedom for n graphs.

    The interval is of the mean over all graphs of which these are a random sample. It says how much a few graphs
    decide, and not how certain the value on any one of them is.

    >>> from kgeval.metrics.names import parse
    >>> mean = mean_over_graphs(parse("mrr"), [0.3, 0.4, 0.5])
    >>> round(mean.value, 6), str(mean.interval)
    (0.4, '0.152–0.648')
    >>> mean_over_graphs(parse("mrr"), [0.3, 0.4]).reason
    '2 graphs: an interval over graphs needs at least 3'
    """
    count = len(values)
    if not count:
        return Value(metric, reason="no graph has a value of every model")
    mean = Value(metric, float(np.mean(values)))
    if count < FEWEST_SEEDS:
        return mean._replace(reason=f"{counted(count, 'graph')}: an interval over graphs needs at least {FEWEST_SEEDS}")
    spread = float(np.std(values, ddof=1) / np.sqrt(count)), count - 1.0
    try:
        return mean.with_interval(
            student_interval(metric.metric, float(np.mean(values)), spread, level=level, unit="graph", units=count)
        )
    except NoInterval:
        return mean._replace(reason="all graphs have the same value")
