"""Metrics adjusted for chance: comparable between graphs, whose candidate sets differ in size.

Under random scores the rank of an answer among N candidates, itself included, is uniform on 1 … N: E[r] = (N + 1) / 2.
"""

from __future__ import annotations

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.metrics.metric import Metric, Undefined, mean
from kgeval.metrics.rank_based import ranks_of
from kgeval.metrics.ranks import Ranks


def adjusted_mean_rank(values: Float64Array, ranks: Ranks) -> float:
    """MR / E[MR].

    >>> MR5 = Ranks(np.array([0, 1, 4, 2, 9]), np.zeros(5, int), np.array([10, 10, 20, 4, 100]))
    >>> round(AMR(MR5), 12)  # 4.2 / 14.9
    0.281879194631
    """
    return mean(values, ranks) / float(np.mean((ranks.candidates + 1) / 2))


def adjusted_mean_rank_index(values: Float64Array, ranks: Ranks) -> float:
    """1 − (MR − 1) / (E[MR] − 1): 1 is perfect, 0 is chance.

    Raises
    ------
    Undefined
        if there are no ranks, or no answer had a competitor, where E[MR] = 1
    """
    if len(values) == 0:
        raise Undefined("there are no ranks")
    chance = float(np.sum(ranks.candidates - 1))
    if chance == 0:
        raise Undefined("no answer had a competitor")
    return 1 - 2 * float(np.sum(values - 1)) / chance


AMR = Metric(
    name="amr",
    title="adjusted mean rank",
    formula="MR / E[MR], E[r] = (N + 1) / 2",
    source="Berrendorf et al., 2020",
    lowest=0,
    highest=2,
    increasing=False,
    rows=ranks_of,
    reduce=adjusted_mean_rank,
    synonyms=("adjusted_mean_rank", "adjusted_arithmetic_mean_rank"),
)

AMRI = Metric(
    name="amri",
    title="adjusted mean rank index",
    formula="1 − 2 Σ (r − 1) / Σ (N − 1)",
    source="Berrendorf et al., 2020",
    lowest=-1,
    highest=1,
    increasing=True,
    rows=ranks_of,
    reduce=adjusted_mean_rank_index,
    synonyms=("adjusted_mean_rank_index", "adjusted_arithmetic_mean_rank_index"),
    undefined="no ranks, or no answer had a competitor",
)
