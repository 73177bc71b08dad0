"""Metrics of the ranks alone: count, mean rank, mean reciprocal rank, hits at k.

A rank is 1 + the candidates above the answer; a tie makes it an interval a … b (see ``kgeval.metrics.ranks``).
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma

from kgeval.arrays import Float64Array, IntArray
from kgeval.metrics.metric import Metric
from kgeval.metrics.ranks import Ranks, Ties


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
    # H(n) = ψ(n + 1) + γ. Where nothing ties, 1/r is kept free of the rounding of the difference.
    between = (digamma(high + 1.0) - digamma(low.astype(float))) / (high - low + 1)
    return np.where(low == high, 1 / low, between)


COUNT = Metric(
    name="count",
    title="number of ranks",
    formula="n",
    source="—",
    lowest=0,
    highest=np.inf,
    increasing=True,
    rows=lambda ranks, ties, k: np.ones(len(ranks)),  # noqa: ARG005
    reduce=lambda values, ranks: len(ranks),  # noqa: ARG005
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
