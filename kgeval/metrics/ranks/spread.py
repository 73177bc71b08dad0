"""The middle and the spread of the ranks: median, variance, standard deviation, median absolute deviation."""

from __future__ import annotations

from functools import partial

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.metrics.metric import measured
from kgeval.metrics.ranks.classic import HOYT, UNTIED
from kgeval.metrics.ranks.moments import RANK
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.metrics.ranks.ties import EXPECTED

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
