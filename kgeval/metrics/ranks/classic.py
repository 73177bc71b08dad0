"""The classic metrics of ranks: count, mean rank, mean reciprocal rank, hits at k.

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

import numpy as np
import numpy.typing as npt

from kgeval.arrays import Float64Array, IntArray
from kgeval.errors import MetricError
from kgeval.metrics.metric import Metric
from kgeval.metrics.numerics.array_inputs import as_number_row, cutoff
from kgeval.metrics.ranks.functions_of_means import mean_metric
from kgeval.metrics.ranks.moments import HITS_AT_K, MEAN_RANK, MEAN_RECIPROCAL_RANK
from kgeval.metrics.ranks.ranks import Ranks


class _Count:
    """How many ranks there are."""

    def __call__(self, ranks: Ranks, k: int) -> int:
        return len(ranks)

    def of_groups(self, ranks: Ranks, starts: IntArray, k: int) -> IntArray:
        """How many there are in each group; int64[group]."""
        return np.asarray(np.diff(np.r_[starts, len(ranks)]), np.int64)


COUNT = Metric(
    name="count",
    title="number of ranks",
    formula="n",
    source="—",
    lowest=0,
    highest=np.inf,
    increasing=None,
    compute=_Count(),
    averaged=False,
    synonyms=("rank_count",),
    undefined="never",
)

MR = Metric(
    name="mr",
    title="mean rank",
    formula="Σ r / n",
    source="Bordes et al., 2013",
    lowest=1,
    highest=np.inf,
    increasing=False,
    compute=mean_metric(MEAN_RANK),
    synonyms=("mean_rank", "arithmetic_mean_rank"),
)

MRR = Metric(
    name="mrr",
    title="mean reciprocal rank",
    formula="Σ (1/r) / n",
    source="Voorhees, 1999",
    lowest=0,
    highest=1,
    increasing=True,
    compute=mean_metric(MEAN_RECIPROCAL_RANK),
    synonyms=("mean_reciprocal_rank", "inverse_harmonic_mean_rank"),
)

HITS = Metric(
    name="hits",
    title="hits at k",
    formula="#{r ≤ k} / n",
    source="Bordes et al., 2013",
    lowest=0,
    highest=1,
    increasing=True,
    compute=mean_metric(HITS_AT_K),
    cutoff="required",
    synonyms=("hits_at_{k}", "h_at_{k}", "h"),
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
    return float(np.mean(_checked(ranks) <= cutoff(k)))


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
