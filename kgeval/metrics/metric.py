"""What a metric is: one declaration, and one function that gives its value on every row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.discovery import instances
from kgeval.errors import MetricError
from kgeval.metrics.ranks import Ranks, Ties


class Undefined(MetricError):
    """A metric has no value on this input; the message says why."""


Rows = Callable[[Ranks, Ties, int], Float64Array]
"""(ranks, tie policy, k) -> one value per row; metrics without k ignore it"""

Reduction = Callable[[Float64Array, Ranks], float]
"""(values, ranks) -> the metric"""


def mean(values: Float64Array, ranks: Ranks) -> float:  # noqa: ARG001
    """The mean over the rows.

    Raises
    ------
    Undefined
        if there are none
    """
    if len(values) == 0:
        raise Undefined("there are no ranks")
    return float(np.mean(values))


@dataclass(frozen=True)
class Metric:
    """A metric of ranks."""

    name: str
    title: str
    formula: str
    source: str
    lowest: float
    """the end of its range that it approaches or reaches from above"""
    highest: float
    increasing: bool
    """whether larger is better"""
    rows: Rows
    reduce: Reduction = mean
    takes_k: bool = False
    synonyms: tuple[str, ...] = ()
    """other names, PyKEEN's among them; ``{k}`` stands for the cut-off"""
    undefined: str = "no ranks"
    """when it has no value"""

    def __call__(self, ranks: Ranks, *, ties: Ties = "realistic", k: int = 0) -> float:
        """Compute the metric.

        Raises
        ------
        Undefined
            where it has no value; never a silent 0 or NaN
        """
        return self.reduce(self.rows(ranks, ties, k), ranks)


@cache
def metrics() -> dict[str, Metric]:
    """All metrics, by name."""
    return {metric.name: metric for metric in instances("kgeval.metrics", Metric)}
