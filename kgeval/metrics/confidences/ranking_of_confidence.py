"""Metrics of ranks weighted by confidence: weighted mean ranks, and nDCG with confidences as grades."""

from __future__ import annotations

from functools import partial

import numpy as np

from kgeval.metrics.lists.gain import NDCG, NDCG_EXPONENTIAL
from kgeval.metrics.metric import Metric
from kgeval.metrics.ranks.classic import MR, MRR

WMR = Metric(
    name="wmr",
    title="mean rank, weighted by confidence",
    formula="Σ w r / Σ w",
    source="Chen et al., 2021",
    lowest=1,
    highest=np.inf,
    increasing=False,
    compute=lambda data, _: MR(data.ranks()),
    needs="confidences",
    synonyms=("weighted_mean_rank",),
    undefined="no facts, or all of confidence 0",
)

WMRR = Metric(
    name="wmrr",
    title="mean reciprocal rank, weighted by confidence",
    formula="Σ (w / r) / Σ w",
    source="Chen et al., 2021",
    lowest=0,
    highest=1,
    increasing=True,
    compute=lambda data, _: MRR(data.ranks()),
    needs="confidences",
    synonyms=("weighted_mean_reciprocal_rank",),
    undefined="no facts, or all of confidence 0",
)

_graded = partial(
    Metric,
    source="Chen et al., 2019",
    lowest=0,
    highest=1,
    increasing=True,
    needs="confidences",
    cutoff="optional",
    undefined="no query has an answer of positive confidence",
)

GRADED_NDCG = _graded(
    name="graded-ndcg",
    title="nDCG per (h, r, ?), graded by confidence",
    formula="DCG / DCG of the best order, gain w",
    compute=lambda data, k: NDCG(data.lists(), k=k),
    synonyms=("graded_ndcg",),
)

GRADED_NDCG_EXPONENTIAL = _graded(
    name="graded-ndcg-exp",
    title="nDCG per (h, r, ?), graded by confidence, exponential",
    formula="DCG / DCG of the best order, gain 2^w − 1",
    compute=lambda data, k: NDCG_EXPONENTIAL(data.lists(), k=k),
    synonyms=("graded_ndcg_exp",),
)
