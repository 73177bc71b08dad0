"""Metrics of ranks alone: their means, such as mean reciprocal rank and hits at k, their median, and their spread.

A rank is 1 + the candidates above the answer; a tie makes it an interval a … b (``kgeval.metrics.ranks.ranks``), over
which the expectation of r is (a + b)/2, of 1/r (H(b) − H(a − 1))/(b − a + 1) with H the harmonic numbers, and of a hit
(k − a + 1)/(b − a + 1), cut to 0 … 1.

>>> two_tied_on_top = Ranks(np.array([0]), np.array([1]), np.array([5]))
>>> MRR(two_tied_on_top.under("expected")), MRR(two_tied_on_top)
(0.75, 0.6666666666666666)
>>> HITS(two_tied_on_top.under("expected"), k=1)
0.5
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.errors import MetricError
from kgeval.metrics.array_inputs import as_number_row
from kgeval.metrics.metric import EXPECTED_TIES, checked_cutoff, declared, measured
from kgeval.metrics.ranks.moments import (
    GEOMETRIC_MEAN,
    HITS_AT_K,
    INVERSE_GEOMETRIC_MEAN,
    MEAN_RANK,
    MEAN_RECIPROCAL_RANK,
    RANK,
    Mean,
)
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.metrics.ranks.ties import EXPECTED

BORDES, HOYT = "Bordes et al., 2013", "Hoyt et al., 2022"
UNTIED = f"no ranks; {EXPECTED_TIES}"
"""when a metric whose expectation over ties has no closed form is undefined"""


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
        self.refuse(ranks, k)
        return float(self.combine(*(ranks.mean(term(ranks, k)) for term in self.terms)))

    def of_groups(self, ranks: Ranks, starts: IntArray, k: int) -> Float64Array:
        """Compute it for many groups of answers; float64[group], not finite where it is undefined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            means = [ranks.means(term(ranks, k), starts) for term in self.terms]
            return np.asarray(self.combine(*means), np.float64)


def mean_of(mean: Mean) -> FunctionOfMeans:
    return FunctionOfMeans(lambda value: value, (mean.values,))


class _Count:
    def __call__(self, ranks: Ranks, k: int) -> int:
        return len(ranks)

    def of_groups(self, ranks: Ranks, starts: IntArray, k: int) -> IntArray:
        """How many there are in each group; int64[group]."""
        return np.asarray(np.diff(np.r_[starts, len(ranks)]), np.int64)


_share = partial(declared, source=HOYT)
_rank = partial(_share, lowest=1, highest=np.inf, increasing=False)

_any_size = partial(declared, source="—", highest=np.inf, increasing=None)

COUNT = _any_size("count rank_count", "number of ranks: n", _Count(), averaged=False, undefined="never")
MR = _rank("mr mean_rank arithmetic_mean_rank", "mean rank: Σ r / n", mean_of(MEAN_RANK), source=BORDES)
MRR = _share(
    "mrr mean_reciprocal_rank inverse_harmonic_mean_rank",
    "mean reciprocal rank: Σ (1/r) / n",
    mean_of(MEAN_RECIPROCAL_RANK),
    source="Voorhees, 1999",
)
HITS = _share(
    "hits hits_at_{k} h_at_{k} h", "hits at k: #{r ≤ k} / n", mean_of(HITS_AT_K), source=BORDES, cutoff="required"
)


def hits_at_k(ranks: npt.ArrayLike, k: int) -> float:
    """Compute the share of ranks that are at most ``k``.

    Parameters
    ----------
    ranks
        from 1; the means of tied ranks may be x.5. Shape (rank,)
    k
        the cut-off

    Raises
    ------
    MetricError
        if there are no ranks, if one is below 1, or if ``k`` is no whole number from 1

    Examples
    --------
    >>> hits_at_k([1, 12, 6, 2], 3), hits_at_k([1.5], 1)
    (0.5, 0.0)
    """
    return float(np.mean(_checked(ranks) <= checked_cutoff(k)))


def mean_reciprocal_rank(ranks: npt.ArrayLike) -> float:
    """Compute the mean of 1 / rank.

    Parameters
    ----------
    ranks
        from 1; the means of tied ranks may be x.5. Shape (rank,)

    Raises
    ------
    MetricError
        if there are no ranks, or if one is below 1

    Examples
    --------
    >>> mean_reciprocal_rank([1, 12, 6, 2])
    0.4375
    """
    return float(np.mean(1 / _checked(ranks)))


def _checked(ranks: npt.ArrayLike) -> Float64Array:
    values = as_number_row(ranks, "ranks")
    if (values < 1).any():
        raise MetricError(
            f"ranks[{int(np.argmax(values < 1))}] is {values[np.argmax(values < 1)]:g}: the first rank is 1."
        )
    return values


def inverse(values: Callable[[Float64Array], Float64Array]) -> FunctionOfMeans:
    return FunctionOfMeans(lambda mean: 1 / mean, (lambda ranks, _: values(ranks.values),))


GMR = _rank("gmr geometric_mean_rank", "geometric mean rank: (Π r)^(1/n)", GEOMETRIC_MEAN.value)
IGMR = _share(
    "igmr inverse_geometric_mean_rank", "inverse geometric mean rank: (Π r)^(−1/n)", INVERSE_GEOMETRIC_MEAN.value
)
IMR = _share(
    "imr iamr inverse_arithmetic_mean_rank", "inverse mean rank: n / Σ r", inverse(lambda rank: rank), undefined=UNTIED
)
HMR = _rank(
    "hmr harmonic_mean_rank", "harmonic mean rank: n / Σ (1/r)", inverse(lambda rank: 1 / rank), undefined=UNTIED
)


NORMAL = 1.482602218505602
"""1 / Φ⁻¹(3/4): the standard deviation of a normal distribution whose median absolute deviation is 1"""

_middle = partial(measured, source=HOYT, undefined=UNTIED)
_spread = partial(measured, source="—", highest=np.inf, increasing=None)


@_middle("median median_rank", "median rank: the middle rank", lowest=1, highest=np.inf, increasing=False)
def median(ranks: Ranks) -> float:
    return _median(ranks.values, ranks)


@_middle("inverse-median inverse_median_rank", "inverse median rank: 1 / the middle rank")
def inverse_median(ranks: Ranks) -> float:
    return 1 / _median(ranks.values, ranks)


@_spread("variance var rank_var", "variance of the ranks: Σ (r − MR)² / n")
def variance(ranks: Ranks) -> float:
    """The exact expectation over ties subtracts the variance that the mean itself has."""
    if ranks.policy is not EXPECTED:
        return ranks.mean((ranks.values - ranks.mean(ranks.values)) ** 2)
    middles, within = (ranks.optimistic + ranks.pessimistic) / 2, RANK.variance(ranks.tied + 1, 0)
    between = ranks.mean((middles - ranks.mean(middles)) ** 2)
    return between + ranks.mean(within) - float(ranks.normalized_weights**2 @ within)


@_spread("std standard_deviation rank_std", "standard deviation of the ranks: √(Σ (r − MR)² / n)", undefined=UNTIED)
def standard_deviation(ranks: Ranks) -> float:
    return float(np.sqrt(ranks.mean((ranks.values - ranks.mean(ranks.values)) ** 2)))


@_spread(
    "mad median_absolute_deviation rank_mad",
    "median absolute deviation of the ranks: 1.4826 · median of |r − median|",
    undefined=UNTIED,
)
def median_absolute_deviation(ranks: Ranks) -> float:
    """Scaled as PyKEEN and SciPy do for normal distributions."""
    return NORMAL * _median(np.abs(ranks.values - _median(ranks.values, ranks)), ranks)


def _median(values: Float64Array, ranks: Ranks) -> float:
    """The value with half of the weight on either side; the mean of two where the halves meet between them."""
    shares = ranks.normalized_weights
    if ranks.weights is None:
        return float(np.median(values))
    order = np.argsort(values)
    reached = np.cumsum(shares[order])
    # Equal weights must meet in the middle in spite of the rounding of their sum.
    middle = int(np.searchsorted(reached, 0.5 * (1 - 1e-12)))
    meets = abs(reached[middle] - 0.5) <= 0.5e-12 and middle + 1 < len(values)
    return float(np.mean(values[order[middle : middle + 1 + meets]]))
