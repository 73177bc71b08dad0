"""The middle and the spread of the ranks: median, variance, standard deviation, median absolute deviation."""

from __future__ import annotations

from functools import partial

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.metrics.metric import Metric
from kgeval.metrics.ranks.moments import RANK
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.metrics.ranks.ties import EXPECTED

NORMAL = 1.482602218505602
"""1 / Φ⁻¹(3/4): the standard deviation of a normal distribution whose median absolute deviation is 1"""


def median_rank(ranks: Ranks, k: int) -> float:  # noqa: ARG001
    """The rank with half of the weight on either side; the mean of two where the halves meet between them.

    >>> median_rank(Ranks(np.array([0, 4, 2, 9]), np.zeros(4, int), np.full(4, 10)), 0)
    4.0
    """
    return _median(ranks.values, ranks)


def variance(ranks: Ranks, k: int) -> float:  # noqa: ARG001
    """Σ (r − MR)² / n; the exact expectation over ties subtracts the variance that the mean itself has."""
    if ranks.policy is not EXPECTED:
        return ranks.mean((ranks.values - ranks.mean(ranks.values)) ** 2)
    middles, within = (ranks.optimistic + ranks.pessimistic) / 2, RANK.variance(ranks.tied + 1, 0)
    between = ranks.mean((middles - ranks.mean(middles)) ** 2)
    return between + ranks.mean(within) - float(ranks.normalized_weights**2 @ within)


def standard_deviation(ranks: Ranks, k: int) -> float:  # noqa: ARG001
    return float(np.sqrt(ranks.mean((ranks.values - ranks.mean(ranks.values)) ** 2)))


def median_absolute_deviation(ranks: Ranks, k: int) -> float:  # noqa: ARG001
    """The median of |r − median|, scaled as PyKEEN and SciPy do for normal distributions."""
    return NORMAL * _median(np.abs(ranks.values - _median(ranks.values, ranks)), ranks)


def _median(values: Float64Array, ranks: Ranks) -> float:
    shares = ranks.normalized_weights
    if ranks.weights is None:
        return float(np.median(values))
    order = np.argsort(values)
    reached = np.cumsum(shares[order])
    # Equal weights must meet in the middle in spite of the rounding of their sum.
    middle = int(np.searchsorted(reached, 0.5 * (1 - 1e-12)))
    meets = abs(reached[middle] - 0.5) <= 0.5e-12 and middle + 1 < len(values)
    return float(np.mean(values[order[middle : middle + 1 + meets]]))


_median_metric = partial(Metric, source="Hoyt et al., 2022", undefined="no ranks; expected ties")

MEDIAN = _median_metric(
    *("median", "median rank", "the middle rank"),
    lowest=1,
    highest=np.inf,
    increasing=False,
    compute=median_rank,
    synonyms=("median_rank",),
)

INVERSE_MEDIAN = _median_metric(
    *("inverse-median", "inverse median rank", "1 / the middle rank"),
    lowest=0,
    highest=1,
    increasing=True,
    compute=lambda ranks, k: 1 / median_rank(ranks, k),
    synonyms=("inverse_median_rank",),
)

_spread = partial(Metric, source="—", lowest=0, highest=np.inf, increasing=None)

VARIANCE = _spread(
    *("variance", "variance of the ranks", "Σ (r − MR)² / n"),
    compute=variance,
    synonyms=("var", "rank_var"),
)

STANDARD_DEVIATION = _spread(
    *("std", "standard deviation of the ranks", "√(Σ (r − MR)² / n)"),
    compute=standard_deviation,
    synonyms=("standard_deviation", "rank_std"),
    undefined="no ranks; expected ties",
)

MAD = _spread(
    *("mad", "median absolute deviation of the ranks", "1.4826 · median of |r − median|"),
    compute=median_absolute_deviation,
    synonyms=("median_absolute_deviation", "rank_mad"),
    undefined="no ranks; expected ties",
)
