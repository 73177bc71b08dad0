"""Other means of the ranks: geometric and harmonic, and their inverses, which PyKEEN reports too."""

from __future__ import annotations

import numpy as np

from kgeval.metrics.metric import Metric
from kgeval.metrics.ranks.moments import GEOMETRIC_MEAN, INVERSE_GEOMETRIC_MEAN
from kgeval.metrics.ranks.ranks import Ranks


def inverse_mean_rank(ranks: Ranks, k: int) -> float:  # noqa: ARG001
    """1 / MR.

    >>> inverse_mean_rank(Ranks(np.array([0, 2]), np.array([0, 0]), np.array([5, 5])), 0)
    0.5
    """
    return 1 / ranks.mean(ranks.values)


def harmonic_mean_rank(ranks: Ranks, k: int) -> float:  # noqa: ARG001
    """N / Σ (1/r), the inverse of the MRR.

    >>> harmonic_mean_rank(Ranks(np.array([0, 2]), np.array([0, 0]), np.array([5, 5])), 0)
    1.5
    """
    return 1 / ranks.mean(1 / ranks.values)


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
    compute=inverse_mean_rank,
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
    compute=harmonic_mean_rank,
    synonyms=("harmonic_mean_rank",),
    undefined="no ranks; expected ties",
)
