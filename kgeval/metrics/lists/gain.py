"""Cumulative gain: plain (CG), discounted by position (DCG), and as a share of the best order's (nDCG).

Each is a metric of ranked lists, declared by ``list_metric``, and a public function of one list as plain arrays.

The gain of an item is its grade of relevance g, or 2^g − 1; its discount is 1 / log₂(position + 1).
"""

from __future__ import annotations

from functools import partial
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import Float64Array
from kgeval.base.errors import MetricError, refuse_unknown
from kgeval.metrics.array_inputs import optional_cutoff
from kgeval.metrics.lists.ranked_lists import RankedLists, list_metric, ranked, safe_divide, single_value
from kgeval.metrics.ranks.moments import sum_of_discounts

Gain = Literal["linear", "exponential"]
GAINS: tuple[Gain, ...] = get_args(Gain)


def cumulative_gains(lists: RankedLists, k: int | None, gain: Gain = "linear") -> Float64Array:
    """Σ gain over the first k of each list; float64[list]."""
    return lists.sums(_gains(lists, gain) * lists.probability_in_top_k(k))


def discounted_gains(lists: RankedLists, k: int | None, gain: Gain = "linear") -> Float64Array:
    """Σ gain · discount over the first k of each list; float64[list]."""
    discounts = sum_of_discounts(lists.num_above + 1, lists.num_above + lists.places(k)) / lists.tie_block_size
    return lists.sums(_gains(lists, gain) * discounts)


def normalised_gains(lists: RankedLists, k: int | None, gain: Gain = "linear") -> Float64Array:
    """DCG / the DCG of the best order of each list, NaN where nothing is relevant; float64[list]."""
    return safe_divide(discounted_gains(lists, k, gain), discounted_gains(lists.ideal(), k, gain))


def _gains(lists: RankedLists, gain: Gain) -> Float64Array:
    refuse_unknown("unknown gain", gain, GAINS, MetricError)
    if gain == "linear":
        return lists.grades
    if lists.grades.max(initial=0) > 1000:
        raise MetricError("the exponential gain 2^g − 1 of a grade above 1000 is too large: use the linear gain.")
    # Small grades would vanish beside the 1; of whole ones the powers of two are exact.
    small = np.expm1(np.minimum(lists.grades, 1) * np.log(2))
    return np.asarray(np.where(lists.grades < 1, small, np.exp2(lists.grades) - 1), np.float64)


_gain = partial(list_metric, source="Järvelin and Kekäläinen, 2002", highest=np.inf, cutoff="optional")
_burges = "Burges et al., 2005"
CG = _gain("cg cumulative_gain cg_at_{k}", "cumulative gain: Σ g over places ≤ k", cumulative_gains)

DCG = _gain(
    "dcg discounted_cumulative_gain dcg_at_{k}", "discounted cumulative gain: Σ g / log₂(place + 1)", discounted_gains
)

DCG_EXPONENTIAL = _gain(
    "dcg-exp dcg-burges dcg_exponential",
    "discounted cumulative gain, exponential: Σ (2^g − 1) / log₂(place + 1)",
    partial(discounted_gains, gain="exponential"),
    source=_burges,
)

NDCG = _gain(
    "ndcg normalised_discounted_cumulative_gain ndcg_at_{k}",
    "normalised discounted cumulative gain: DCG / DCG of the best order",
    normalised_gains,
    highest=1,
)

NDCG_EXPONENTIAL = _gain(
    "ndcg-exp ndcg-burges ndcg_exponential",
    "normalised discounted cumulative gain, exponential: DCG / DCG of the best order, gain 2^g − 1",
    partial(normalised_gains, gain="exponential"),
    source=_burges,
    highest=1,
)


def cumulative_gain(
    relevance: npt.ArrayLike, scores: npt.ArrayLike | None = None, *, k: int | None = None, gain: Gain = "linear"
) -> float:
    """Sum the gains of the first ``k`` items of a list, CG = Σ gain; see :func:`dcg`.

    Examples
    --------
    >>> cumulative_gain([5, 3, 2, 1, 2], k=3)
    10.0
    """
    return float(cumulative_gains(ranked(relevance, scores), optional_cutoff(k), gain)[0])


def dcg(
    relevance: npt.ArrayLike, scores: npt.ArrayLike | None = None, *, k: int | None = None, gain: Gain = "linear"
) -> float:
    """Compute the discounted cumulative gain of a list, Σ gain / log₂(position + 1) (Järvelin and Kekäläinen, 2002).

    Parameters
    ----------
    relevance
        the grades of the items, whole or fractional, from 0; in served order or in the order of ``scores``. Shape
        (item,)
    scores
        what the list is ordered by, higher first; equal scores are averaged over their orders (McSherry and Najork,
        2008), as scikit-learn does. Shape (item,)
    k
        only the first ``k`` places count
    gain
        ``"linear"``, the grade g, or ``"exponential"``, 2^g − 1 (Burges et al., 2005)

    Raises
    ------
    MetricError
        if the arrays, the cut-off or the gain are malformed

    Examples
    --------
    >>> round(dcg([7, 2, 5, 10, 1]), 12), round(dcg([7, 2, 5, 10, 1], gain="exponential"), 11)
    (15.455477895111, 585.36176097703)
    >>> round(dcg([1, 0], scores=[3, 3]), 6)  # first or second, (1 + 1 / log₂ 3) / 2
    0.815465
    """
    return float(discounted_gains(ranked(relevance, scores), optional_cutoff(k), gain)[0])


def ndcg(
    relevance: npt.ArrayLike,
    scores: npt.ArrayLike | None = None,
    *,
    k: int | None = None,
    gain: Gain = "linear",
    ideal: npt.ArrayLike | None = None,
) -> float:
    """Compute the DCG of a list as a share of the DCG of its best order, from 0 to 1; see :func:`dcg`.

    Parameters
    ----------
    relevance, scores, k, gain
        as of :func:`dcg`
    ideal
        the grades of all relevant items, in any order, if the list does not hold them all; shape (any,). Without ``k``
        the best order has all of them, as in trec_eval and ranx

    Raises
    ------
    MetricError
        if the arrays, the cut-off or the gain are malformed; if ``ideal`` lacks grades that are in the list
    Undefined
        if nothing is relevant

    Examples
    --------
    >>> ndcg([3, 2, 1]), round(ndcg([1, 2, 3]), 12)
    (1.0, 0.789998004246)
    >>> round(ndcg([5, 3, 2, 1, 2], gain="exponential", ideal=[5, 4, 3, 2, 2, 1], k=5), 12)
    0.82961263164
    >>> round(ndcg([5, 3, 2, 1, 2], ideal=[5, 4, 3, 2, 2, 1]), 12)
    0.82589050184
    """
    lists = ranked(relevance, scores, ideal=ideal)
    return single_value(NDCG, normalised_gains(lists, optional_cutoff(k), gain))
