"""Average precision: the mean, over the relevant items of a list, of the precision where each stands."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgeval.arrays import Float64Array
from kgeval.metrics.lists.ranked_lists import PerList, RankedLists, list_metric, ranked, safe_divide, single_value
from kgeval.metrics.numerics.array_inputs import optional_cutoff
from kgeval.metrics.numerics.sums import sum_of_reciprocals


def average_precisions(lists: RankedLists, k: int | None) -> Float64Array:
    """The average precision of each list, over all of its relevant items, NaN where there are none; float64[list].

    An item of a tied block with n items, r of them relevant, after t items with R relevant, stands at place t + i with
    probability 1/n, and then R + (i − 1)(r − 1)/(n − 1) + 1 relevant items are expected up to it. Summed over i:
    ((R + 1) H + (r − 1)/(n − 1) · (s − (t + 1) H)) / n, with s = n (cut to k − t) and H = Σ 1/(t + i) over i = 1 … s.
    """
    above, tied = lists.blocks
    places = lists.places(k)
    reciprocals = sum_of_reciprocals(lists.num_above + 1, lists.num_above + places)
    others = (tied - 1) / np.maximum(lists.tie_block_size - 1, 1)
    each = ((above + 1) * reciprocals + others * (places - (lists.num_above + 1) * reciprocals)) / lists.tie_block_size
    return safe_divide(lists.sums(each), lists.relevant)


MAP = list_metric(
    name="map",
    title="mean average precision",
    formula="Σ P@place of each answer / m",
    source="Buckley and Voorhees, 2000",
    compute=PerList(average_precisions),
    cutoff="optional",
    synonyms=("ap", "mean_average_precision", "ap_at_{k}", "map_at_{k}"),
)


def average_precision(relevance: npt.ArrayLike, scores: npt.ArrayLike | None = None, *, k: int | None = None) -> float:
    """Compute the average precision of one list, AP = Σ P@position / m over the relevant items (a grade above 0).

    Parameters
    ----------
    relevance
        the grades of the items, in served order or in the order of ``scores``; shape (item,)
    scores
        what the list is ordered by, higher first; equal scores are averaged over their orders (McSherry and Najork,
        2008), which scikit-learn, where a tied block is one threshold, does not do. Shape (item,)
    k
        only the first ``k`` places count; still divided by all m relevant items, as trec_eval does

    Raises
    ------
    MetricError
        if the arrays or the cut-off are malformed
    Undefined
        if nothing is relevant

    Examples
    --------
    >>> average_precision([1, 0, 0, 1, 1, 0, 0, 1, 0, 0])
    0.65
    >>> average_precision([0, 1], scores=[0.5, 0.5])  # first or second, (1 + 1/2) / 2
    0.75
    """
    return MAP.bounded(single_value(average_precisions(ranked(relevance, scores), optional_cutoff(k))))
