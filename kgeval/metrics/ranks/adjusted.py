"""Metrics adjusted for chance: comparable between graphs, whose candidate sets differ in size.

An index is (M − E[M]) / (1 − E[M]): 1 is perfect, which every base metric calls 1, and 0 is random ranking. Its range
as declared is that of exact chance: counted among the N − 1 without the answer, an answer may rank below all that
chance could, and the index falls below −1.

>>> five = Ranks(np.array([0, 1, 4, 2, 9]), np.zeros(5, int), np.array([10, 10, 20, 4, 100]))
>>> round(AMR(five), 12)  # 4.2 / 14.9
0.281879194631
"""

from __future__ import annotations

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.metrics.metric import Metric, Undefined
from kgeval.metrics.ranks.functions_of_means import FunctionOfMeans
from kgeval.metrics.ranks.moments import (
    GEOMETRIC_MEAN,
    HITS_AT_K,
    MEAN_RANK,
    MEAN_RECIPROCAL_RANK,
    Mean,
)
from kgeval.metrics.ranks.ranks import Ranks


def refuse_certainty(ranks: Ranks, k: int) -> None:
    """Refuse ranks that leave nothing to chance.

    Raises
    ------
    Undefined
        if random ranking could not do worse than perfect, or if there is an answer without any candidate, itself
        included (where the answer is not counted)
    """
    _refuse_no_candidates(ranks)
    if len(ranks) and (ranks.candidates <= max(k, 1)).all():
        raise Undefined(f"no answer had more than {k} candidates" if k else "no answer had a competitor")


def _refuse_no_candidates(ranks: Ranks, k: int = 0) -> None:  # noqa: ARG001
    if (ranks.candidates < 1).any():
        raise Undefined("an answer had no competitor, and is not counted itself")


def index(mean: Mean) -> FunctionOfMeans:
    """Make the function (M − E[M]) / (1 − E[M]) of a mean M of values v: the mean of v − E[v] by that of 1 − E[v]."""

    def gained(ranks: Ranks, k: int) -> Float64Array:
        return mean.values(ranks, k) - mean.expected_under_random(ranks, k)

    def to_gain(ranks: Ranks, k: int) -> Float64Array:
        return 1 - mean.expected_under_random(ranks, k)

    return FunctionOfMeans(np.divide, (gained, to_gain), refuse_certainty)


def index_of_geometric_mean(ranks: Ranks, k: int) -> float:
    """(M − E[M]) / (1 − E[M]) of the geometric mean rank M, both divided by E[M], which keeps digits near 1."""
    refuse_certainty(ranks, k)
    return float(np.expm1(GEOMETRIC_MEAN.log_relative(ranks)) / np.expm1(-GEOMETRIC_MEAN.log_expectation(ranks)))


AMR = Metric(
    name="amr",
    title="adjusted mean rank",
    formula="MR / E[MR], E[r] = (N + 1) / 2",
    source="Berrendorf et al., 2020",
    lowest=0,
    highest=2,
    increasing=False,
    compute=FunctionOfMeans(np.divide, (MEAN_RANK.values, MEAN_RANK.expected_under_random), _refuse_no_candidates),
    synonyms=("aamr", "adjusted_mean_rank", "adjusted_arithmetic_mean_rank"),
    undefined="no ranks; an answer without any candidate (chance counted without it)",
)

AMRI = Metric(
    name="amri",
    title="adjusted mean rank index",
    formula="1 − (MR − 1) / (E[MR] − 1)",
    source="Berrendorf et al., 2020",
    lowest=-1,
    highest=1,
    increasing=True,
    compute=index(MEAN_RANK),
    synonyms=("aamri", "adjusted_mean_rank_index", "adjusted_arithmetic_mean_rank_index"),
    undefined="no ranks; no answer had a competitor",
)

AMRR = Metric(
    name="amrr",
    title="adjusted mean reciprocal rank",
    formula="(MRR − E) / (1 − E), E[1/r] = H(N) / N",
    source="Hoyt et al., 2022",
    lowest=-1,
    highest=1,
    increasing=True,
    compute=index(MEAN_RECIPROCAL_RANK),
    synonyms=("adjusted_mrr", "adjusted_mean_reciprocal_rank", "aihmr", "adjusted_inverse_harmonic_mean_rank"),
    undefined="no ranks; no answer had a competitor",
)

ADJUSTED_HITS = Metric(
    name="ahits",
    title="adjusted hits at k",
    formula="(Hits@k − E) / (1 − E), E[r ≤ k] = min(k / N, 1)",
    source="Hoyt et al., 2022",
    lowest=-np.inf,
    highest=1,
    increasing=True,
    compute=index(HITS_AT_K),
    cutoff="required",
    synonyms=("ah", "adjusted_hits", "adjusted_hits_at_{k}", "ahits_at_{k}", "ah_at_{k}"),
    undefined="no ranks; no answer had more than k candidates",
)

AGMRI = Metric(
    name="agmri",
    title="adjusted geometric mean rank index",
    formula="1 − (GMR − 1) / (E − 1), E = Π (Σ j^(1/n) / N)",
    source="Hoyt et al., 2022",
    lowest=-np.inf,
    highest=1,
    increasing=True,
    compute=index_of_geometric_mean,
    synonyms=("gmri", "adjusted_geometric_mean_rank_index"),
    undefined="no ranks; no answer had a competitor",
)
