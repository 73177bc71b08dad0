"""Metrics of ranks alone: means, such as mean reciprocal rank, hits at k, median, spread, and adjusted for chance.

Each is a ``Metric`` of :class:`Ranks`, found by ``metric.metrics()``. To add one, declare it here: by ``declared`` with
a function of means, or by ``@measured`` above a function.

A rank r is 1 + the number of candidates above the answer; a tie makes it an interval a … b
(``kgeval.metrics.ranks.ranks``). The expectation over a tie is (a + b)/2 for r; (H(b) − H(a − 1))/(b − a + 1) for 1/r,
with H the harmonic numbers; and (k − a + 1)/(b − a + 1), cut to 0 … 1, for a hit at k.

An adjusted index is (M − E[M]) / (1 − E[M]): 1 is perfect, as every base metric M of perfect ranks is 1, and 0 is
random ranking. It is comparable between graphs, whose candidate sets differ in size. The declared range is for exact
chance. If chance ranks among the N − 1 candidates without the answer, an answer may rank below all that chance could,
and the index is below −1.

>>> two_tied_on_top = Ranks(np.array([0]), np.array([1]), np.array([5]))
>>> MRR(two_tied_on_top.under("expected")), MRR(two_tied_on_top)
(0.75, 0.6666666666666666)
>>> HITS(two_tied_on_top.under("expected"), k=1)
0.5
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.errors import MetricError
from kgeval.metrics.array_inputs import as_number_row, refuse_items
from kgeval.metrics.metric import EXPECTED_TIES, Metric, Undefined, Variants, checked_cutoff, declared, measured
from kgeval.metrics.ranks.moments import (
    GEOMETRIC_MEAN,
    HITS_AT_K,
    INVERSE_GEOMETRIC_MEAN,
    MEAN_RANK,
    MEAN_RECIPROCAL_RANK,
    Mean,
    mean_of_polynomials,
)
from kgeval.metrics.ranks.ranks import Ranks, Rows
from kgeval.metrics.ranks.ties import EXPECTED

BORDES, HOYT = "Bordes et al., 2013", "Hoyt et al., 2022"

UNTIED = f"no ranks; {EXPECTED_TIES}"
"""when a metric whose expectation over ties has no closed form is undefined"""


@dataclass(frozen=True)
class FunctionOfMeans:
    """The function of a metric f(mean of x, mean of y, …), where x and y are values of each answer."""

    combine: Callable[..., Any]
    """f: takes a mean for each term, as numbers or as arrays"""
    terms: tuple[Callable[[Ranks, int], Float64Array], ...]
    """the functions that compute x, y, …: (ranks, k) -> float64[row]"""
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
        """Count the ranks of each group; int64[group]."""
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


@cache
def hits_among(k: int, n: int) -> Metric:
    """Declare hits@k_n: hits at k among n candidates, the answer and n − 1 negatives drawn from its other candidates.

    The sum of its formula is computed as the regularised incomplete beta function 1 − I_f(k, n − k), which does not
    overflow.

    >>> second_of_five = Ranks(np.array([1]), np.array([0]), np.array([5]))
    >>> hits_among(1, 3)(second_of_five)  # neither of 2 draws is the one of 4 that is above: (3/4)²
    0.5625
    """

    def chance(ranks: Ranks, _: int) -> Float64Array:
        from scipy.special import betaincc

        others = np.maximum(ranks.competitors, 1)

        def at(rank: Float64Array, rows: Rows) -> Float64Array:
            return np.asarray(betaincc(float(k), float(n - k), (rank - 1) / others[rows]), np.float64)

        if ranks.policy is EXPECTED:
            return mean_of_polynomials(at, n - 1, ranks.optimistic, ranks.pessimistic)
        return at(ranks.values, slice(None))

    return _share(
        f"hits@{k}_{n}",
        "hits at k among n candidates: mean of Σ C(n − 1, i) fⁱ (1 − f)ⁿ⁻¹⁻ⁱ over i < k, f = (r − 1) / (N − 1)",
        FunctionOfMeans(lambda value: value, (chance,)),
        source="Zhu et al., 2021; Galkin et al., 2024 (ULTRA)",
        shape="hits@k_n",
        pair=(k, n),
    )


def _among(numbers: str) -> Metric:
    # Numbers of 15 digits are exact in float64.
    k, n = (int(one) if re.fullmatch("[1-9][0-9]{,14}", one) else 0 for one in numbers.split("_", 1))
    if 0 < k < n:
        return hits_among(k, n)
    why = "where n is at most k, it is 1 at every rank" if k and n else f"found {numbers!r:.50}"
    needs = "hits@k_n needs two whole numbers, k of at least 1 and n above k and below 10¹⁵"
    raise MetricError(f"metric {f'hits@{numbers}'!r:.80}: {needs}; {why}. Write 'hits@10_50'.")


HITS = _share(
    "hits hits_at_{k} h_at_{k} h",
    "hits at k: #{r ≤ k} / n",
    mean_of(HITS_AT_K),
    source=BORDES,
    cutoff="required",
    variants=Variants("hits@10_50", "hits@(.*_.*)(?P<k>)", _among),
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
    refuse_items("ranks", values, values < 1, "the first rank is 1")
    return values


def inverse(values: Callable[[Float64Array], Float64Array]) -> FunctionOfMeans:
    """Make the function 1 / (mean of a value of each rank)."""
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
    middles, within = (ranks.optimistic + ranks.pessimistic) / 2, MEAN_RANK.variance(ranks.tied + 1, 0)
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


def refuse_certainty(ranks: Ranks, k: int) -> None:
    _refuse_no_candidates(ranks)
    if len(ranks) and (ranks.candidates <= max(k, 1)).all():
        raise Undefined(f"no answer had more than {k} candidates" if k else "no answer had a competitor")


def _refuse_no_candidates(ranks: Ranks, k: int = 0) -> None:  # noqa: ARG001
    if (ranks.candidates < 1).any():
        raise Undefined("an answer has no competitor, and does not count itself")


def index(mean: Mean) -> FunctionOfMeans:
    """Make (M − E[M]) / (1 − E[M]) of a mean M of values v: the mean of v − E[v] divided by the mean of 1 − E[v]."""

    def gained(ranks: Ranks, k: int) -> Float64Array:
        return mean.values(ranks, k) - mean.expected_under_random(ranks, k)

    def to_gain(ranks: Ranks, k: int) -> Float64Array:
        return 1 - mean.expected_under_random(ranks, k)

    return FunctionOfMeans(np.divide, (gained, to_gain), refuse_certainty)


def index_of_geometric_mean(ranks: Ranks, k: int) -> float:
    """(M − E[M]) / (1 − E[M]) of the geometric mean rank M, both divided by E[M], which keeps digits near 1."""
    refuse_certainty(ranks, k)
    return float(np.expm1(GEOMETRIC_MEAN.log_relative(ranks)) / np.expm1(-GEOMETRIC_MEAN.log_expectation(ranks)))


AMR = declared(
    "amr aamr adjusted_mean_rank adjusted_arithmetic_mean_rank",
    "adjusted mean rank: MR / E[MR], E[r] = (N + 1) / 2",
    FunctionOfMeans(np.divide, (MEAN_RANK.values, MEAN_RANK.expected_under_random), _refuse_no_candidates),
    source="Berrendorf et al., 2020",
    highest=2,
    increasing=False,
    undefined="no ranks; an answer without any candidate (chance counted without it)",
)

_adjusted = partial(declared, source=HOYT, lowest=-np.inf, undefined="no ranks; no answer had a competitor")
_at_k = partial(_adjusted, cutoff="required", undefined="no ranks; no answer had more than k candidates")

AMRI = _adjusted(
    "amri aamri adjusted_mean_rank_index adjusted_arithmetic_mean_rank_index",
    "adjusted mean rank index: 1 − (MR − 1) / (E[MR] − 1)",
    index(MEAN_RANK),
    source="Berrendorf et al., 2020",
    lowest=-1,
)

AMRR = _adjusted(
    "amrr adjusted_mrr adjusted_mean_reciprocal_rank aihmr adjusted_inverse_harmonic_mean_rank",
    "adjusted mean reciprocal rank: (MRR − E) / (1 − E), E[1/r] = H(N) / N",
    index(MEAN_RECIPROCAL_RANK),
    lowest=-1,
)

ADJUSTED_HITS = _at_k(
    "ahits ah adjusted_hits adjusted_hits_at_{k} ahits_at_{k} ah_at_{k}",
    "adjusted hits at k: (Hits@k − E) / (1 − E), E[r ≤ k] = min(k / N, 1)",
    index(HITS_AT_K),
)

AGMRI = _adjusted(
    "agmri gmri adjusted_geometric_mean_rank_index",
    "adjusted geometric mean rank index: 1 − (GMR − 1) / (E − 1), E = Π (Σ j^(1/n) / N)",
    index_of_geometric_mean,
)


@dataclass(frozen=True)
class ZScore:
    """The function z = ±(M − E[M]) / √V[M] of a mean M of values v, with the sign for which larger is better.

    It is computed as Σ w (v − E[v]) / √(Σ w² V[v]), with weights w that sum to 1. An answer without competitors adds 0,
    whatever its weight; in the difference of two means, a large weight of such an answer would round the others away.
    """

    mean: Mean
    increasing: bool

    def __call__(self, ranks: Ranks, k: int) -> float:
        self.refuse(ranks, k)
        deviations, largest = self._deviations(ranks, k)
        gained = float(ranks.normalized_weights / largest @ self._gained(ranks, k))
        return gained / float(np.linalg.norm(deviations / largest))

    def refuse(self, ranks: Ranks, k: int) -> None:
        refuse_certainty(ranks, k)
        if not self._deviations(ranks, k)[1]:
            raise Undefined("no answer with a weight had a competitor")

    @property
    def terms(self) -> tuple[Callable[[Ranks, int], Float64Array], ...]:
        """The x and y of z = M_x / √M_y: x is the gain over chance, y is w V / Σ w, with Σ w over these answers."""
        return self._gain, self._variance

    @staticmethod
    def combine(gain: Any, variance: Any) -> Any:
        """Compute z from the means of its terms, as numbers or as arrays."""
        return gain / np.sqrt(variance)

    def _gain(self, ranks: Ranks, k: int) -> Float64Array:
        return self._gained(ranks, k) / self._deviations(ranks, k)[1]

    def _gained(self, ranks: Ranks, k: int) -> Float64Array:
        gained = self.mean.values(ranks, k) - self.mean.expected_under_random(ranks, k)
        return gained if self.increasing else -gained

    def _variance(self, ranks: Ranks, k: int) -> Float64Array:
        largest = self._deviations(ranks, k)[1]
        return np.asarray(ranks.normalized_weights / largest * (self.mean.variances(ranks, k) / largest), np.float64)

    def _deviations(self, ranks: Ranks, k: int) -> tuple[Float64Array, float]:
        """Compute w √V / Σ w and the largest of them; divided by it, squares of tiny weights do not underflow."""
        deviations = ranks.normalized_weights * np.sqrt(self.mean.variances(ranks, k))
        return deviations, float(deviations.max())


def z_score_of_geometric_mean(ranks: Ranks, k: int) -> float:  # noqa: ARG001
    """(E[M] − M) / √V[M], computed as (1 − M / E[M]) / √(V[M] / E[M]²) from logarithms, without cancellation."""
    refuse_certainty(ranks, 0)
    spread = np.sqrt(np.expm1(GEOMETRIC_MEAN.log_relative_square(ranks)))
    return float(-np.expm1(GEOMETRIC_MEAN.log_relative(ranks)) / spread)


_z_score = partial(_adjusted, highest=np.inf)

Z_MR = _z_score(
    "z-mr zmr zamr z_arithmetic_mean_rank",
    "z-scored mean rank: (E − MR) / √V, V[r] = (N² − 1) / 12",
    ZScore(MEAN_RANK, increasing=False),
)

Z_MRR = _z_score(
    "z-mrr zmrr zihmr z_inverse_harmonic_mean_rank",
    "z-scored mean reciprocal rank: (MRR − E) / √V, V[1/r] = (N H₂(N) − H(N)²) / N²",
    ZScore(MEAN_RECIPROCAL_RANK, increasing=True),
)

Z_HITS = _at_k(
    "z-hits zh zhits z_hits_at_{k}",
    "z-scored hits at k: (Hits@k − E) / √V, V[r ≤ k] = p (1 − p), p = min(k / N, 1)",
    ZScore(HITS_AT_K, increasing=True),
    highest=np.inf,
)

Z_GMR = _z_score(
    "z-gmr zgmr z_geometric_mean_rank",
    "z-scored geometric mean rank: (E − GMR) / √V, V = Π (Σ j^(2/n) / N) − E²",
    z_score_of_geometric_mean,
)
