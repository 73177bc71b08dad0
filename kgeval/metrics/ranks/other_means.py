"""Other means of the ranks: geometric and harmonic, and their inverses, which PyKEEN reports too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.metrics.metric import Metric
from kgeval.metrics.ranks.functions_of_means import FunctionOfMeans
from kgeval.metrics.ranks.moments import GEOMETRIC_MEAN, INVERSE_GEOMETRIC_MEAN


def inverse(values: Callable[[Float64Array], Float64Array]) -> FunctionOfMeans:
    """Make the inverse of the mean of a function of each rank.

    >>> from kgeval.metrics.ranks.ranks import Ranks
    >>> ranks = Ranks(np.array([0, 2]), np.array([0, 0]), np.array([5, 5]))
    >>> IMR(ranks), HMR(ranks)
    (0.5, 1.5)
    """
    return FunctionOfMeans(lambda mean: 1 / mean, (lambda ranks, _: values(ranks.values),))


GMR = Metric(
    name="gmr",
    title="geometric mean rank",
    formula="(Π r)^(1/n)",
    source="Hoyt et al., 2022",
    lowest=1,
    highest=np.inf,
    increasing=False,
    compute=GEOMETRIC_MEAN.value,
    synonyms=("geometric_mean_rank",),
)

IGMR = Metric(
    name="igmr",
    title="inverse geometric mean rank",
    formula="(Π r)^(−1/n)",
    source="Hoyt et al., 2022",
    lowest=0,
    highest=1,
    increasing=True,
    compute=INVERSE_GEOMETRIC_MEAN.value,
    synonyms=("inverse_geometric_mean_rank",),
)

IMR = Metric(
    name="imr",
    title="inverse mean rank",
    formula="n / Σ r",
    source="Hoyt et al., 2022",
    lowest=0,
    highest=1,
    increasing=True,
    compute=inverse(lambda rank: rank),
    synonyms=("iamr", "inverse_arithmetic_mean_rank"),
    undefined="no ranks; expected ties",
)

HMR = Metric(
    name="hmr",
    title="harmonic mean rank",
    formula="n / Σ (1/r)",
    source="Hoyt et al., 2022",
    lowest=1,
    highest=np.inf,
    increasing=False,
    compute=inverse(lambda rank: 1 / rank),
    synonyms=("harmonic_mean_rank",),
    undefined="no ranks; expected ties",
)
