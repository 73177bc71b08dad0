"""Metrics of retrieval: precision, recall and F1 at k, average precision, reciprocal rank, ROC AUC of each list.

To add one, write a function of :class:`RankedLists` and a cut-off that gives each list a value, and declare it by
``list_metric``.

With c relevant items among the first k and m in the whole list: P = c / k, R = c / m, F1 = 2 c / (k + m). All are
linear in c, so their exact average over tied orders is their value at the expected c. RankedLists hold relevant items
only, so that the sum of probability_in_top_k over the items of a list is its expected c.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.metrics.array_inputs import Row
from kgeval.metrics.lists.ranked_lists import RankedLists, list_metric, safe_divide, value_of_list
from kgeval.metrics.ranks.moments import sum_of_reciprocals


def precisions(lists: RankedLists, k: int | None) -> Float64Array:
    """P = c / k of each list, also where it has fewer than k items; float64[list]."""
    return lists.sums(lists.probability_in_top_k(k)) / (lists.lengths if k is None else k)


def recalls(lists: RankedLists, k: int | IntArray | None) -> Float64Array:
    """R = c / m of each list (k may be int64[item]), NaN where nothing is relevant; float64[list]."""
    return safe_divide(lists.sums(lists.probability_in_top_k(k)), lists.relevant)


def f1_scores(lists: RankedLists, k: int | None) -> Float64Array:
    """F1 = 2 c / (k + m) of each list; float64[list]."""
    return 2 * lists.sums(lists.probability_in_top_k(k)) / ((lists.lengths if k is None else k) + lists.relevant)


_at_k = partial(list_metric, source="van Rijsbergen, 1979", cutoff="required")
PRECISION = _at_k("p precision precision_at_{k}", "precision at k: #{answers at places ≤ k} / k", precisions)
RECALL = _at_k("r recall recall_at_{k}", "recall at k: #{answers at places ≤ k} / m, m answers in the list", recalls)
F1 = _at_k("f1 f1_at_{k}", "F1 at k: 2 #{answers at places ≤ k} / (k + m)", f1_scores)

R_PRECISION = list_metric(
    "r-precision rprec r_precision",
    "precision at the number of answers: #{answers at places ≤ m} / m",
    lambda lists, _: recalls(lists, lists.relevant[lists.list_ids]),
    source="Buckley and Voorhees, 2000",
)


def precision_at_k(relevance: Row, scores: Row | None = None, *, k: int | None = None) -> float:
    """Compute the share of relevant items (a grade above 0) among the first ``k`` of a list.

    Parameters
    ----------
    relevance
        the grades of the items, in served order or in the order of ``scores``; shape (item,)
    scores
        what the list is ordered by, higher first; equal scores are averaged over their orders (McSherry and Najork,
        2008). Shape (item,)
    k
        the cut-off; without one, the whole list. A list shorter than ``k`` is still divided by ``k``, as trec_eval does

    Raises
    ------
    MetricError
        if the arrays or the cut-off are malformed

    Examples
    --------
    >>> precision_at_k([1, 0, 1, 1], k=2), precision_at_k([1, 0, 1], scores=[1, 1, 1], k=1)
    (0.5, 0.6666666666666666)
    """
    return value_of_list(PRECISION, precisions, relevance, scores, k)


def recall_at_k(
    relevance: Row, scores: Row | None = None, *, k: int | None = None, relevant: int | None = None
) -> float:
    """Compute the share of all relevant items that is among the first ``k`` of a list.

    Parameters
    ----------
    relevance, scores, k
        as of :func:`precision_at_k`
    relevant
        how many relevant items there are, if the list does not hold them all

    Raises
    ------
    MetricError
        if the arrays or the cut-off are malformed; if more items of the list are relevant than ``relevant``
    Undefined
        if nothing is relevant

    Examples
    --------
    >>> recall_at_k([1, 0, 1, 1], k=2), recall_at_k([1, 0, 1, 1], relevant=4)
    (0.3333333333333333, 0.75)
    """
    return value_of_list(RECALL, recalls, relevance, scores, k, relevant=relevant)


def f1_at_k(relevance: Row, scores: Row | None = None, *, k: int | None = None, relevant: int | None = None) -> float:
    """Compute the harmonic mean of precision and recall at ``k``, 2 c / (k + m); see :func:`recall_at_k`.

    It is 0 where nothing is relevant.

    Examples
    --------
    >>> f1_at_k([1, 0, 1, 1], k=2)  # 2 · 1 / (2 + 3)
    0.4
    """
    return value_of_list(F1, f1_scores, relevance, scores, k, relevant=relevant)


def average_precisions(lists: RankedLists, k: int | None, *, capped: bool = False) -> Float64Array:
    """The average precision of each list, over its m relevant items or, capped, min(k, m); NaN if m = 0; float64[list].

    An item of a tied block with n items, r of them relevant, after t items with R relevant, stands at place t + i with
    probability 1/n, and then R + (i − 1)(r − 1)/(n − 1) + 1 relevant items are expected up to it. Summed over i:
    ((R + 1) H + (r − 1)/(n − 1) · (s − (t + 1) H)) / n, with s = n (cut to k − t) and H = Σ 1/(t + i) over i = 1 … s.
    """
    above, tied = lists.blocks
    places = lists.places(k)
    reciprocals = sum_of_reciprocals(lists.num_above + 1, lists.num_above + places)
    others = (tied - 1) / np.maximum(lists.tie_block_size - 1, 1)
    each = ((above + 1) * reciprocals + others * (places - (lists.num_above + 1) * reciprocals)) / lists.tie_block_size
    return safe_divide(lists.sums(each), np.minimum(lists.relevant, k) if capped and k else lists.relevant)


MAP = list_metric(
    "map ap mean_average_precision ap_at_{k} map_at_{k}",
    "mean average precision: Σ P@place of each answer / m, also at k, m answers in the list",
    average_precisions,
    source="Buckley and Voorhees, 2000",
    cutoff="optional",
)

MAP_CAPPED = list_metric(
    "map-capped map_capped map-min",
    "mean average precision at k, divided by min(k, m): Σ P@place of each answer at places ≤ k / min(k, m)",
    partial(average_precisions, capped=True),
    source="Spark (MLlib), RecBole",
    cutoff="required",
)


def average_precision(
    relevance: Row, scores: Row | None = None, *, k: int | None = None, relevant: int | None = None
) -> float:
    """Compute the average precision of one list, AP = Σ P@position / m over the relevant items (a grade above 0).

    Parameters
    ----------
    relevance, scores
        as of :func:`precision_at_k`; scikit-learn takes a tied block as one threshold instead of averaging orders
    k
        only the first ``k`` places count; still divided by all m relevant items, as trec_eval does
    relevant
        m, if the list does not hold all relevant items. Of a list that is cut at k, ``relevant=min(k, m)`` divides by
        this, as Spark, RecBole and PyTorch Geometric do: ``map-capped@k``

    Raises
    ------
    MetricError
        if the arrays or the cut-off are malformed; if more items of the list are relevant than ``relevant``
    Undefined
        if nothing is relevant

    Examples
    --------
    >>> average_precision([1, 0, 0, 1, 1, 0, 0, 1, 0, 0])
    0.65
    >>> average_precision([0, 1], scores=[0.5, 0.5])  # first or second, (1 + 1/2) / 2
    0.75
    >>> average_precision([1, 0, 1], relevant=3)  # (1 + 2/3 + 0) / 3
    0.5555555555555555
    >>> average_precision([1, 0, 1], k=2), average_precision([1, 0], relevant=min(2, 2))  # at 2 of m = 2
    (0.5, 0.5)
    """
    return value_of_list(MAP, average_precisions, relevance, scores, k, relevant=relevant)


def first_reciprocals(lists: RankedLists, k: int | None = None) -> Float64Array:  # noqa: ARG001
    """1 / the place of the first relevant item of each list, NaN where nothing is relevant; float64[list]."""
    values = np.full(len(lists.lengths), np.nan)
    rows = np.flatnonzero(lists.relevant)
    tops = lists.offsets[:-1][rows]
    cases = np.stack([lists.num_above[tops], lists.tie_block_size[tops], lists.blocks[1][tops]])
    before, level, relevant = cases
    values[rows] = sum_of_reciprocals(before + 1, before + level) / level
    several = np.flatnonzero(relevant > 1)
    # E[1 / (t + X)], X the place of the first of r relevant among n items in random order, behind t others.
    cases, codes = np.unique(cases[:, several], axis=1, return_inverse=True)
    found, sure = _by_recurrence(*cases)
    found[~sure] = _by_sums(*cases[:, ~sure])
    values[rows[several]] = found[codes.ravel()]
    if lists.retrieved is not None:
        values[rows[~lists.retrieved[tops]]] = 0
    return values


FIRST = list_metric(
    "first-rr first_reciprocal_rank recip_rank",
    "mean reciprocal place of the first answer: Σ (1 / place of the first answer) / #queries",
    first_reciprocals,
    source="Voorhees, 1999",
)


def areas(lists: RankedLists, k: int | None = None) -> Float64Array:  # noqa: ARG001
    """The Mann–Whitney statistic of each list, ties half; NaN where all or nothing is relevant; float64[list]."""
    above, tied = lists.blocks
    beaten_by, level = lists.num_above - above, lists.tie_block_size - tied
    negatives = lists.lengths - lists.relevant
    right = lists.sums(negatives[lists.list_ids] - beaten_by - level / 2)
    return safe_divide(right, lists.relevant * negatives)


AUC = list_metric(
    "auc query-auc mean_query_auc",
    "area under the ROC curve of each query: #{answer above negative} / #{(answer, negative)}, ties half",
    areas,
    source="Hanley and McNeil, 1982",
    undefined="no ranks; no common list; no query has negatives (those without are left out)",
)

_EPSILON = 2.0**-53

_STEPS = 64
"""the most steps of the recurrence"""

_CELLS = 1 << 22
"""the most probabilities in memory at a time: 32 MiB"""


def _by_recurrence(before: IntArray, level: IntArray, relevant: IntArray) -> tuple[Float64Array, BoolArray]:
    """Compute E_r = E[1 / (t + X)] from E_(r−1), and tell where rounding stays below 10⁻¹³ of it.

    X is the place of the first of r relevant among n tied items, ``level``, behind t others, ``before``; [case] each.
    C(n − x, r − 1) = C(n − x, r − 2) (n − x − r + 2) / (r − 1) makes E_r = ((n + t − r + 2) E_(r−1) − 1) · r / ((r − 1)
    (n − r + 1)), from E_1 = (H(t + n) − H(t)) / n.
    """
    t, n = before.astype(np.float64), level.astype(np.float64)
    values = sum_of_reciprocals(before + 1, before + level) / n
    errors = 4 * _EPSILON * values
    for r in range(2, min(int(relevant.max(initial=1)), _STEPS) + 1):
        left = relevant >= r
        factor = r / ((r - 1) * np.maximum(n - r + 1, 1))
        scaled = (n + t - r + 2) * values
        errors = np.where(left, factor * ((n + t - r + 2) * errors + 2 * _EPSILON * scaled), errors)
        values = np.where(left, factor * (scaled - 1), values)
    return values, (relevant <= _STEPS) & (errors <= 1e-13 * values)


def _by_sums(before: IntArray, level: IntArray, relevant: IntArray) -> Float64Array:
    """Compute E[1 / (t + X)] as a sum over the places x of the first relevant item; float64[case]."""
    # P(X > x) < e^(−x r / n): beyond 50 n / r nothing that float64 holds is left.
    spans = np.minimum(level - relevant + 1, np.ceil(50 * level / relevant).astype(np.int64))
    # Sorted by width, so that cases which are summed together are about equally wide.
    order = np.argsort(spans, kind="stable")
    sums = np.empty(len(order))
    start = 0
    while start < len(order):
        widths = spans[order[start:]]
        fits = max(1, int(np.searchsorted(widths * np.arange(1, len(widths) + 1), _CELLS, "right")))
        part = order[start : start + fits]
        sums[part] = _summed(before[part], level[part], relevant[part], width=int(widths[fits - 1]))
        start += fits
    return sums


def _summed(before: IntArray, level: IntArray, relevant: IntArray, *, width: int) -> Float64Array:
    """Sum P(X = x) / (t + x) over x = 1 … width, with P(X = x + 1) / P(X = x) = (n − x − r + 1) / (n − x)."""
    t, n, r = before[:, None], level[:, None], relevant[:, None]
    x = np.arange(1, width + 1)
    chances = np.empty((len(before), width))
    chances[:, :1] = r / n
    np.divide(np.maximum(n - x[:-1] - r + 1, 0), np.maximum(n - x[:-1], 1), out=chances[:, 1:])
    return np.asarray((np.cumprod(chances, axis=1) / (t + x)).sum(axis=1), np.float64)
