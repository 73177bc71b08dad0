"""Means of rows: of all of them, or of many groups at once, whose rows lie group by group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from kgeval.arrays import Float64Array, IntArray

if TYPE_CHECKING:
    from kgeval.metrics.ranks.moments import Mean
    from kgeval.metrics.ranks.ranks import Ranks


@runtime_checkable
class OfGroups(Protocol):
    """What computes a metric also for many groups at once."""

    def of_groups(self, given: Any, starts: IntArray, k: int) -> npt.NDArray[Any]:
        """Compute it for each of the groups that begin at some rows, or lists; [group].

        It is no finite number where the metric is undefined: what the group is by itself tells why.
        """
        ...


def means_of_groups(values: Float64Array, starts: IntArray, weights: Float64Array | None = None) -> Float64Array:
    """The weighted mean of each group; float64[group], NaN where nothing in it has a weight.

    >>> means_of_groups(np.array([1.0, 2.0, 6.0]), np.array([0, 2]))
    array([1.5, 6. ])
    """
    sizes = np.diff(np.r_[starts, len(values)])
    if weights is None:
        return np.asarray(np.add.reduceat(values, starts) / sizes, np.float64)
    # The shares first: a large weight times a large value may be beyond float64.
    totals = np.repeat(np.add.reduceat(weights, starts), sizes)
    shares = np.divide(weights, totals, out=np.full(len(values), np.nan), where=totals > 0)
    return np.asarray(np.add.reduceat(shares * values, starts), np.float64)


@dataclass(frozen=True)
class FunctionOfMeans:
    """A metric that is a function of means over the answers, which may be those of many groups."""

    combine: Callable[..., Any]
    """of as many means as there are terms, numbers or arrays of them"""
    terms: tuple[Callable[[Ranks, int], Float64Array], ...]
    """(ranks, k) -> float64[row]"""
    refuse: Callable[[Ranks, int], None] = lambda _, __: None
    """raises where it is undefined; its terms then make NaN or infinity of it, or are refused too"""

    def __call__(self, ranks: Ranks, k: int) -> float:
        """Compute it."""
        self.refuse(ranks, k)
        return float(self.combine(*(ranks.mean(term(ranks, k)) for term in self.terms)))

    def of_groups(self, ranks: Ranks, starts: IntArray, k: int) -> Float64Array:
        """Compute it for many groups of answers; float64[group], no finite number where it is undefined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            means = [ranks.means(term(ranks, k), starts) for term in self.terms]
            return np.asarray(self.combine(*means), np.float64)


def mean_metric(mean: Mean) -> FunctionOfMeans:
    """Make the metric that is the mean."""
    return FunctionOfMeans(lambda value: value, (mean.values,))
