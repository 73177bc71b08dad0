"""Cumulative gain: plain (CG), discounted by place (DCG), and as a share of the best order's (nDCG).

Each is a metric of ranked lists, and a public function of one list as plain arrays.

The gain of an item is its grade of relevance g, or 2^g − 1. A discount says how much it counts at a place: by default
1 / log₂(place + 1). Burges et al. (2005) use 1 / log(place + 1) with the gain 2^g − 1; trec_eval and scikit-learn use
1 / log₂(place + 1) with the linear gain. Järvelin and Kekäläinen (2002) discount by 1 / log_b(place)
from place b on: this is the discount ``original``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal, get_args

import numpy as np

from kgeval.base.arrays import Float64Array
from kgeval.base.errors import MetricError, refuse_unknown
from kgeval.metrics.array_inputs import Row
from kgeval.metrics.lists.ranked_lists import RankedLists, list_metric, safe_divide, value_of_list
from kgeval.metrics.metric import Metric, Variants
from kgeval.metrics.ranks.moments import Decay, sums_over_places

Gain = Literal["linear", "exponential"]

JK = "Järvelin and Kekäläinen, 2002"


def discount_named(word: str) -> Decay:
    """Return the factor of a gain at each place, by its name: ``log2``, ``ln``, ``original``, or one with another base.

    >>> [float(discount_named(word)(np.array(4))) for word in ("original", "original1.5", "log5")]  # 1 / log₂ 4, …
    [0.5, 0.2924812503605781, 1.0]
    """
    spelled = {"ln": f"log{np.e}", "original": "original2"}.get(word, word)
    match = re.fullmatch(r"(log|original)(\d+(?:\.\d+)?)", str(spelled), re.ASCII)
    base = np.longdouble(float(match[2]) if match else 0)
    if match is None or not 1 < base < np.inf:
        raise MetricError(f"unknown discount {word!r:.80}. Use log2, ln, original, or a base: log10, original1.5.")
    if match[1] == "log":
        return lambda places: np.log2(base) / np.log2(places + 1)
    return lambda places: 1 / np.maximum(np.log2(places) / np.log2(base), 1)


LOG2 = discount_named("log2")


def cumulative_gains(lists: RankedLists, k: int | None, gain: Gain = "linear") -> Float64Array:
    """Σ gain over the first k of each list; float64[list]."""
    return lists.sums(_gains(lists, gain) * lists.probability_in_top_k(k))


def discounted_gains(lists: RankedLists, k: int | None, gain: Gain = "linear", discount: Decay = LOG2) -> Float64Array:
    """Σ gain · discount over the first k of each list; float64[list]."""
    low, high = lists.num_above + 1, lists.num_above + lists.places(k)
    return lists.sums(_gains(lists, gain) * (sums_over_places(discount, low, high) / lists.tie_block_size))


def normalised_gains(lists: RankedLists, k: int | None, gain: Gain = "linear", discount: Decay = LOG2) -> Float64Array:
    """DCG / the DCG of the best order of each list, NaN where nothing is relevant; float64[list]."""
    own, best = (discounted_gains(order, k, gain, discount) for order in (lists, lists.ideal()))
    return safe_divide(own, best)


def _gains(lists: RankedLists, gain: Gain) -> Float64Array:
    refuse_unknown("unknown gain", gain, get_args(Gain), MetricError)
    if gain == "linear":
        return lists.grades
    if lists.grades.max(initial=0) > 1000:
        raise MetricError("the exponential gain 2^g − 1 of a grade above 1000 is too large: use the linear gain.")
    # Small grades would vanish in 2^g − 1, so expm1 takes them; of whole grades the powers of two are exact.
    small = np.expm1(np.minimum(lists.grades, 1) * np.log(2))
    return np.asarray(np.where(lists.grades < 1, small, np.exp2(lists.grades) - 1), np.float64)


def with_discounts(
    declare: Callable[..., Metric], names: str, text: str, values: Callable[..., Float64Array], **further: Any
) -> Metric:
    """Declare a metric and, under NAME-DISCOUNT, the same metric with other discounts.

    ``text`` has ``{}`` in place of the divisor; ``values`` takes the keyword ``discount``.
    """
    name = names.partition(" ")[0]

    @cache
    def with_discount(word: str) -> Metric:
        of, original = partial(values, discount=discount_named(word)), word.startswith("original")
        base = re.sub("[a-z]", "", word) or ("2" if original else "e")
        described = text.format(f"max(1, log_{base}(place))" if original else f"log_{base}(place + 1)")
        source = JK if original else f"{further['source']}, base {base}"
        about = further | {"shape": f"{name}-DISCOUNT", "source": source}
        return declare(f"{name}-{word}", described.replace(": ", f", discount {word}: ", 1), of, **about)

    pattern = rf"{name}-(ln|(?:log|original)[\d.]*)(?:@(?P<k>[1-9]\d{{0,17}}))?"
    variants = Variants(f"{name}-original", pattern, with_discount)
    return declare(names, text.format("log₂(place + 1)"), values, variants=variants, **further)


_gain = partial(list_metric, source=JK, highest=np.inf, cutoff="optional")
_dcg = partial(with_discounts, _gain, source=f"{JK}, discount of trec_eval")
_exponential = partial(with_discounts, _gain, source="Burges et al., 2005")
CG = _gain("cg cumulative_gain cg_at_{k}", "cumulative gain: Σ g over places ≤ k", cumulative_gains)

DCG = _dcg("dcg discounted_cumulative_gain dcg_at_{k}", "discounted cumulative gain: Σ g / {}", discounted_gains)

DCG_EXPONENTIAL = _exponential(
    "dcg-exp dcg-burges dcg_exponential",
    "discounted cumulative gain, exponential: Σ (2^g − 1) / {}",
    partial(discounted_gains, gain="exponential"),
)

NDCG = _dcg(
    "ndcg normalised_discounted_cumulative_gain normalized_discounted_cumulative_gain ndcg_at_{k}",
    "normalised discounted cumulative gain: DCG / DCG of the best order, DCG = Σ g / {}",
    normalised_gains,
    highest=1,
)

NDCG_EXPONENTIAL = _exponential(
    "ndcg-exp ndcg-burges ndcg_exponential",
    "normalised discounted cumulative gain, exponential: DCG / DCG of the best order, DCG = Σ (2^g − 1) / {}",
    partial(normalised_gains, gain="exponential"),
    highest=1,
)


def cumulative_gain(relevance: Row, scores: Row | None = None, *, k: int | None = None, gain: Gain = "linear") -> float:
    """Sum the gains of the first ``k`` items of a list, CG = Σ gain (Järvelin and Kekäläinen, 2002); see :func:`dcg`.

    Examples
    --------
    >>> cumulative_gain([5, 3, 2, 1, 2], k=3)
    10.0
    """
    return value_of_list(CG, partial(cumulative_gains, gain=gain), relevance, scores, k)


def dcg(
    relevance: Row, scores: Row | None = None, *, k: int | None = None, gain: Gain = "linear", discount: str = "log2"
) -> float:
    """Compute the discounted cumulative gain of a list, by default Σ gain / log₂(place + 1), as trec_eval does.

    Parameters
    ----------
    relevance
        the grades of the items, whole or fractional, from 0; in served order or in the order of ``scores``. Shape
        (item,)
    scores
        what the list is ordered by, higher first; equal scores are averaged over their orders (McSherry and Najork,
        2008), as scikit-learn does. Shape (item,)
    k
        only the first ``k`` places count; places beyond the end of the list have no gain
    gain
        ``"linear"``, the grade g, or ``"exponential"``, 2^g − 1 (Burges et al., 2005)
    discount
        what a gain is divided by: ``"log2"``, log₂(place + 1); ``"ln"`` or ``"log10"``, with another base; or
        ``"original"``, max(1, log₂(place)), the one of Järvelin and Kekäläinen (2002), who discount no place before
        their base. ``"log"`` and ``"original"`` take any base above 1, as in ``"original10"``

    Raises
    ------
    MetricError
        if the arrays, the cut-off, the gain or the discount are malformed

    Examples
    --------
    >>> round(dcg([7, 2, 5, 10, 1]), 12), round(dcg([7, 2, 5, 10, 1], gain="exponential"), 11)
    (15.455477895111, 585.36176097703)
    >>> round(dcg([3, 2], discount="ln"), 4)  # 3 / ln 2 + 2 / ln 3
    6.1486
    >>> dcg([3, 2, 0, 1], discount="original")  # 3 + 2 / 1 + 1 / log₂ 4
    5.5
    >>> round(dcg([1, 0], scores=[3, 3]), 6)  # first or second, (1 + 1 / log₂ 3) / 2
    0.815465
    """
    of = partial(discounted_gains, gain=gain, discount=discount_named(discount))
    return value_of_list(DCG, of, relevance, scores, k)


def ndcg(
    relevance: Row,
    scores: Row | None = None,
    *,
    k: int | None = None,
    gain: Gain = "linear",
    discount: str = "log2",
    ideal: Row | None = None,
) -> float:
    """Compute the DCG of a list as a share of the DCG of its best order, from 0 to 1; see :func:`dcg`.

    The best order has the same discount. Its base, but not that of ``"original"``, cancels.

    Parameters
    ----------
    relevance, scores, k, gain, discount
        as of :func:`dcg`
    ideal
        the grades of all relevant items, in any order, if the list does not hold them all; shape (any,). Without ``k``
        the best order has all of them, as in trec_eval and ranx

    Raises
    ------
    MetricError
        if the arrays, the cut-off, the gain or the discount are malformed; if ``ideal`` lacks grades of the list
    Undefined
        if nothing is relevant

    Examples
    --------
    >>> ndcg([3, 2, 1]), round(ndcg([1, 2, 3]), 12)
    (1.0, 0.789998004246)
    >>> round(ndcg([1, 2, 3], discount="original"), 12)  # (1 + 2 + 3 / log₂ 3) / (3 + 2 + 1 / log₂ 3)
    0.868913212354
    >>> round(ndcg([5, 3, 2, 1, 2], gain="exponential", ideal=[5, 4, 3, 2, 2, 1], k=5), 12)
    0.82961263164
    >>> round(ndcg([5, 3, 2, 1, 2], ideal=[5, 4, 3, 2, 2, 1]), 12)
    0.82589050184
    """
    of = partial(normalised_gains, gain=gain, discount=discount_named(discount))
    return value_of_list(NDCG, of, relevance, scores, k, ideal=ideal)
