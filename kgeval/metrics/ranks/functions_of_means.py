"""Metrics that are a function of means over the answers, of one group of answers or of many at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.metrics.ranks.moments import Mean
from kgeval.metrics.ranks.ranks import Ranks


@dataclass(frozen=True)
class FunctionOfMeans:
    """f(mean of x, mean of y, …), x and y being values of each answer."""

    combine: Callable[..., Any]
    """f, of as many means as there are terms: numbers, or arrays of them"""
    terms: tuple[Callable[[Ranks, int], Float64Array], ...]
    """(ranks, k) -> float64[row]"""
    refuse: Callable[[Ranks, int], None] = lambda _, __: None
    """raises where the metric is undefined; the terms are then NaN or infinite, or refused too"""

    def __call__(self, ranks: Ranks, k: int) -> float:
        """Compute it."""
        self.refuse(ranks, k)
        return float(self.combine(*(ranks.mean(term(ranks, k)) for term in self.terms)))

    def of_groups(self, ranks: Ranks, starts: IntArray, k: int) -> Float64Array:
        """Compute it for many groups of answers; float64[group], not finite where it is undefined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            means = [ranks.means(term(ranks, k), starts) for term in self.terms]
            return np.asarray(self.combine(*means), np.float64)


def mean_metric(mean: Mean) -> FunctionOfMeans:
    """Return the metric that is the mean itself."""
    return FunctionOfMeans(lambda value: value, (mean.values,))
