"""Ranks of facts that count by their confidence: weighted mean ranks, and nDCG with confidences as grades."""

from __future__ import annotations

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.metrics.confided import Confided
from kgeval.metrics.gain import Gain, normalised_gains
from kgeval.metrics.labelled import LabelMetric
from kgeval.metrics.metric import Undefined
from kgeval.metrics.rank_based import ranks_of, reciprocal_ranks


def weighted_mean_rank(data: Confided) -> float:
    """Σ w r / Σ w over facts and sides."""
    ranked = data.ranks()
    return _weighted(ranks_of(ranked.ranks, ranked.ties), ranked.weights)


def weighted_mean_reciprocal_rank(data: Confided) -> float:
    """Σ (w / r) / Σ w over facts and sides."""
    ranked = data.ranks()
    return _weighted(reciprocal_ranks(ranked.ranks, ranked.ties), ranked.weights)


def linear_ndcg(data: Confided) -> float:
    """The mean nDCG of the queries (h, r, ?), a fact's gain being its confidence w."""
    return _mean_ndcg(data, "linear")


def exponential_ndcg(data: Confided) -> float:
    """The mean nDCG of the queries (h, r, ?), a fact's gain being 2^w − 1."""
    return _mean_ndcg(data, "exponential")


def _mean_ndcg(data: Confided, gain: Gain) -> float:
    ranked = data.ranks()
    if not (ranked.queries >= 0).any():
        raise Undefined("no tails were ranked")
    values = normalised_gains(ranked.lists(), None, gain)
    if np.isnan(values).all():
        raise Undefined("no query has an answer of positive confidence")
    return float(np.nanmean(values))


def _weighted(values: Float64Array, weights: Float64Array) -> float:
    if weights.sum() == 0:
        raise Undefined("every fact has confidence 0")
    return float(np.average(values, weights=weights))


WMR = LabelMetric(
    name="wmr",
    title="mean rank, weighted by confidence",
    formula="Σ w r / Σ w",
    source="Chen et al., 2021 (PASSLEAF)",
    lowest=1,
    highest=np.inf,
    increasing=False,
    needs="confidences and ranks",
    compute=weighted_mean_rank,
    synonyms=("weighted_mean_rank",),
    undefined="no facts, or all of confidence 0",
)

WMRR = LabelMetric(
    name="wmrr",
    title="mean reciprocal rank, weighted by confidence",
    formula="Σ (w / r) / Σ w",
    source="Chen et al., 2021 (PASSLEAF)",
    lowest=0,
    highest=1,
    increasing=True,
    needs="confidences and ranks",
    compute=weighted_mean_reciprocal_rank,
    synonyms=("weighted_mean_reciprocal_rank",),
    undefined="no facts, or all of confidence 0",
)

NDCG = LabelMetric(
    name="graded-ndcg",
    title="nDCG per (h, r, ?), graded by confidence, linear gain",
    formula="mean of DCG / best DCG, gain w, filtered, tie-averaged",
    source="Chen et al., 2019",
    lowest=0,
    highest=1,
    increasing=True,
    needs="confidences and ranks",
    compute=linear_ndcg,
    synonyms=("ndcg", "linear_ndcg"),
    undefined="no query has an answer of positive confidence",
)

EXPONENTIAL_NDCG = LabelMetric(
    name="graded-ndcg-exp",
    title="nDCG per (h, r, ?), graded by confidence, exponential gain",
    formula="mean of DCG / best DCG, gain 2^w − 1, filtered, tie-averaged",
    source="Chen et al., 2019",
    lowest=0,
    highest=1,
    increasing=True,
    needs="confidences and ranks",
    compute=exponential_ndcg,
    synonyms=("ndcg-exp", "exponential_ndcg"),
    undefined="no query has an answer of positive confidence",
)
