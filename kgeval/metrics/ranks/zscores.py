"""z-scores: how many standard deviations a metric is better than its expectation under random ranking."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from kgeval.metrics.metric import Metric, Undefined
from kgeval.metrics.ranks.adjusted import refuse_certainty
from kgeval.metrics.ranks.moments import GEOMETRIC_MEAN, HITS_AT_K, MEAN_RANK, MEAN_RECIPROCAL_RANK, Mean
from kgeval.metrics.ranks.ranks import Ranks


def z_score(mean: Mean, *, increasing: bool) -> Callable[[Ranks, int], float]:
    """Return the function z = ±(M − E[M]) / √V[M] of a mean M of values v, with the sign for which larger is better.

    It is computed as Σ w (v − E[v]) / √(Σ w² V[v]), with weights w that sum to 1. An answer without competitors adds 0,
    whatever its weight; in the difference of two means, a large weight of such an answer would round the others away.
    """

    def score(ranks: Ranks, k: int) -> float:
        refuse_certainty(ranks, k)
        deviations = ranks.normalized_weights * np.sqrt(mean.variances(ranks, k))
        largest = deviations.max()  # divided by it, squares of tiny weights do not underflow
        if not largest:
            raise Undefined("no answer with a weight had a competitor")
        improvement = float(
            ranks.normalized_weights / largest @ (mean.values(ranks, k) - mean.expected_under_random(ranks, k))
        )
        return (improvement if increasing else -improvement) / float(np.linalg.norm(deviations / largest))

    return score


def z_score_of_geometric_mean(ranks: Ranks, k: int) -> float:  # noqa: ARG001
    """(E[M] − M) / √V[M], computed as (1 − M / E[M]) / √(V[M] / E[M]²) from logarithms, without cancellation."""
    refuse_certainty(ranks, 0)
    spread = np.sqrt(np.expm1(GEOMETRIC_MEAN.log_relative_square(ranks)))
    return float(-np.expm1(GEOMETRIC_MEAN.log_relative(ranks)) / spread)


_metric = partial(
    Metric,
    source="Hoyt et al., 2022",
    lowest=-np.inf,
    highest=np.inf,
    increasing=True,
    undefined="no ranks; no answer had a competitor",
)

Z_MR = _metric(
    name="z-mr",
    title="z-scored mean rank",
    formula="(E − MR) / √V, V[r] = (N² − 1) / 12",
    compute=z_score(MEAN_RANK, increasing=False),
    synonyms=("zmr", "zamr", "z_arithmetic_mean_rank"),
)

Z_MRR = _metric(
    name="z-mrr",
    title="z-scored mean reciprocal rank",
    formula="(MRR − E) / √V, V[1/r] = (N H₂(N) − H(N)²) / N²",
    compute=z_score(MEAN_RECIPROCAL_RANK, increasing=True),
    synonyms=("zmrr", "zihmr", "z_inverse_harmonic_mean_rank"),
)

Z_HITS = _metric(
    name="z-hits",
    title="z-scored hits at k",
    formula="(Hits@k − E) / √V, V[r ≤ k] = p (1 − p), p = min(k / N, 1)",
    compute=z_score(HITS_AT_K, increasing=True),
    cutoff="required",
    synonyms=("zh", "zhits", "z_hits_at_{k}"),
    undefined="no ranks; no answer had more than k candidates",
)

Z_GMR = _metric(
    name="z-gmr",
    title="z-scored geometric mean rank",
    formula="(E − GMR) / √V, V = Π (Σ j^(2/n) / N) − E²",
    compute=z_score_of_geometric_mean,
    synonyms=("zgmr", "z_geometric_mean_rank"),
)
