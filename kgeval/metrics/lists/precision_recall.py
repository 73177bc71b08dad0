"""Precision, recall and F1 of the first k items of a ranked list; R-precision.

With c relevant items among the first k and m in the whole list: P = c / k, R = c / m, F1 = 2 c / (k + m). All are
linear in c, so the exact average over tied orders is that of the expected c. RankedLists hold relevant items only, so
that a sum of probability_in_top_k over the items of a list is its expected c.
"""

from __future__ import annotations

import numpy.typing as npt

from kgeval.arrays import Float64Array
from kgeval.metrics.lists.ranked_lists import PerList, RankedLists, list_metric, ranked, safe_divide, single_value
from kgeval.metrics.numerics.array_inputs import optional_cutoff


def precisions(lists: RankedLists, k: int | None) -> Float64Array:
    """P = c / k of each list, also where it has fewer than k items; float64[list]."""
    return lists.sums(lists.probability_in_top_k(k)) / (lists.lengths if k is None else k)


def recalls(lists: RankedLists, k: int | None) -> Float64Array:
    """R = c / m of each list, NaN where nothing is relevant; float64[list]."""
    return safe_divide(lists.sums(lists.probability_in_top_k(k)), lists.relevant)


def f1_scores(lists: RankedLists, k: int | None) -> Float64Array:
    """F1 = 2 c / (k + m) of each list; float64[list]."""
    return 2 * lists.sums(lists.probability_in_top_k(k)) / ((lists.lengths if k is None else k) + lists.relevant)


def r_precisions(lists: RankedLists, k: int | None = None) -> Float64Array:  # noqa: ARG001
    """The precision of each list at its own number of relevant items, NaN where nothing is relevant; float64[list].

    ``k`` is there because PerList passes it.
    """
    return safe_divide(lists.sums(lists.probability_in_top_k(lists.relevant[lists.list_ids])), lists.relevant)


PRECISION = list_metric(
    name="p",
    title="precision at k",
    formula="#{answers at places ≤ k} / k",
    source="van Rijsbergen, 1979",
    compute=PerList(precisions),
    cutoff="required",
    synonyms=("precision", "precision_at_{k}"),
)

RECALL = list_metric(
    name="r",
    title="recall at k",
    formula="#{answers at places ≤ k} / m, m answers in the list",
    source="van Rijsbergen, 1979",
    compute=PerList(recalls),
    cutoff="required",
    synonyms=("recall", "recall_at_{k}"),
)

F1 = list_metric(
    name="f1",
    title="F1 at k",
    formula="2 #{answers at places ≤ k} / (k + m)",
    source="van Rijsbergen, 1979",
    compute=PerList(f1_scores),
    cutoff="required",
    synonyms=("f1_at_{k}",),
)

R_PRECISION = list_metric(
    name="r-precision",
    title="precision at the number of answers",
    formula="#{answers at places ≤ m} / m",
    source="Buckley and Voorhees, 2000",
    compute=PerList(r_precisions),
    synonyms=("rprec", "r_precision"),
)


def precision_at_k(relevance: npt.ArrayLike, scores: npt.ArrayLike | None = None, *, k: int | None = None) -> float:
    """Compute the share of relevant items (a grade above 0) among the first ``k`` of a list.

    Parameters
    ----------
    relevance
        the grades of the items, in served order or in the order of ``scores``; shape (item,)
    scores
        what the list is ordered by, higher first; equal scores are averaged over their orders. Shape (item,)
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
    return PRECISION.bounded(float(precisions(ranked(relevance, scores), optional_cutoff(k))[0]))


def recall_at_k(relevance: npt.ArrayLike, scores: npt.ArrayLike | None = None, *, k: int | None = None) -> float:
    """Compute the share of a list's relevant items that is among its first ``k``; see :func:`precision_at_k`.

    Raises
    ------
    MetricError
        if the arrays or the cut-off are malformed
    Undefined
        if nothing is relevant

    Examples
    --------
    >>> recall_at_k([1, 0, 1, 1], k=2)
    0.3333333333333333
    """
    # single_value raises Undefined for NaN, which recall is where nothing is relevant.
    return RECALL.bounded(single_value(recalls(ranked(relevance, scores), optional_cutoff(k))))


def f1_at_k(relevance: npt.ArrayLike, scores: npt.ArrayLike | None = None, *, k: int | None = None) -> float:
    """Compute the harmonic mean of precision and recall at ``k``, 2 c / (k + m); see :func:`precision_at_k`.

    It is 0 where nothing is relevant.

    Raises
    ------
    MetricError
        if the arrays or the cut-off are malformed

    Examples
    --------
    >>> f1_at_k([1, 0, 1, 1], k=2)  # 2 · 1 / (2 + 3)
    0.4
    """
    return F1.bounded(float(f1_scores(ranked(relevance, scores), optional_cutoff(k))[0]))
