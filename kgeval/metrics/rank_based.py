"""Metrics of the ranks alone: count, mean rank, mean reciprocal rank, hits at k.

A rank is 1 + the candidates above the answer; a tie makes it an interval a … b (see ``kgeval.metrics.ranks``).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgeval.arrays import Float64Array, IntArray
from kgeval.errors import MetricError
from kgeval.metrics.lists import array, cutoff
from kgeval.metrics.metric import Metric
from kgeval.metrics.ranks import Ranks, Ties
from kgeval.metrics.sums import sum_of_reciprocals


def ranks_of(ranks: Ranks, ties: Ties, k: int = 0) -> Float64Array:  # noqa: ARG001
    """The rank of each row; its expectation is the mean of its interval."""
    return ranks.values(ties, lambda rank: rank, lambda low, high: (low + high) / 2)


def reciprocal_ranks(ranks: Ranks, ties: Ties, k: int = 0) -> Float64Array:  # noqa: ARG001
    """1/r of each row; its expectation over a … b is (H(b) − H(a − 1)) / (b − a + 1), H the harmonic numbers.

    >>> two_tied_on_top = Ranks(np.array([0]), np.array([1]), np.array([5]))
    >>> reciprocal_ranks(two_tied_on_top, "expected"), reciprocal_ranks(two_tied_on_top, "realistic")
    (array([0.75]), array([0.66666667]))
    """
    return ranks.values(ties, lambda rank: 1 / rank, _expected_reciprocal)


def hits(ranks: Ranks, ties: Ties, k: int) -> Float64Array:
    """1 where r ≤ k, else 0; its expectation over a … b is (k − a + 1) / (b − a + 1), cut to 0 … 1.

    >>> hits(Ranks(np.array([0]), np.array([3]), np.array([4])), "expected", 1)
    array([0.25])
    """
    return ranks.values(
        ties,
        lambda rank: (rank <= k).astype(float),
        lambda low, high: np.clip((k - low + 1) / (high - low + 1), 0.0, 1.0),
    )


def _expected_reciprocal(low: IntArray, high: IntArray) -> Float64Array:
    return sum_of_reciprocals(low, high) / (high - low + 1)


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
    return float(np.mean(_given(ranks) <= cutoff(k)))


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
    return float(np.mean(1 / _given(ranks)))


def _given(ranks: npt.ArrayLike) -> Float64Array:
    values = array(ranks, "ranks")
    if (values < 1).any():
        raise MetricError(
            f"ranks[{int(np.argmax(values < 1))}] is {values[np.argmax(values < 1)]:g}: the first rank is 1."
        )
    return values


COUNT = Metric(
    name="count",
    title="number of ranks",
    formula="n",
    source="—",
    lowest=0,
    highest=np.inf,
    increasing=True,
    rows=lambda ranks, ties, k: np.ones(len(ranks)),  # noqa: ARG005
    reduce=lambda values, ranks: float(len(ranks)),  # noqa: ARG005
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
    rows=ranks_of,
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
    rows=reciprocal_ranks,
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
    rows=hits,
    takes_k=True,
    synonyms=("hits_at_{k}", "h@{k}"),
)
