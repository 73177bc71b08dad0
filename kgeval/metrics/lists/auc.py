"""The area under the ROC curve of each list: the share of (answer, negative) pairs that are in the right order."""

from __future__ import annotations

from kgeval.arrays import Float64Array
from kgeval.metrics.lists.ranked_lists import PerList, RankedLists, list_metric, safe_divide


def areas(lists: RankedLists, k: int | None = None) -> Float64Array:  # noqa: ARG001
    """The Mann–Whitney statistic of each list, ties half; NaN where all or nothing is relevant; float64[list].

    >>> from kgeval.metrics.lists.ranked_lists import list_metric, ranked
    >>> areas(ranked([0, 0, 1, 1, 1], scores=[0.1, 0.4, 0.35, 0.8, 0.8]))  # 5 of 6 pairs
    array([0.83333333])
    """
    above, tied = lists.blocks
    beaten_by, level = lists.num_above - above, lists.tie_block_size - tied
    negatives = lists.lengths - lists.relevant
    right = lists.sums(negatives[lists.list_ids] - beaten_by - level / 2)
    return safe_divide(right, lists.relevant * negatives)


AUC = list_metric(
    name="auc",
    title="area under the ROC curve of each query",
    formula="#{answer above negative} / #{(answer, negative)}, ties half",
    source="Hanley and McNeil, 1982",
    compute=PerList(areas),
    synonyms=("query-auc", "mean_query_auc"),
    undefined="no ranks; no common list; no query has negatives (those without are left out)",
)
