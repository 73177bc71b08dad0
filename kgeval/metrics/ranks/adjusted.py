"""Metrics adjusted for chance: comparable between graphs, whose candidate sets differ in size.

An index is (M − E[M]) / (1 − E[M]): 1 is perfect, which every base metric calls 1, and 0 is random ranking. Its range
as declared is that of exact chance: counted among the N − 1 without the answer, an answer may rank below all that
chance could, and the index falls below −1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kgeval.base.arrays import Float64Array
from kgeval.metrics.metric import Undefined, declared
from kgeval.metrics.ranks.classic import HOYT, FunctionOfMeans
from kgeval.metrics.ranks.moments import GEOMETRIC_MEAN, HITS_AT_K, MEAN_RANK, MEAN_RECIPROCAL_RANK, Mean
from kgeval.metrics.ranks.ranks import Ranks


def refuse_certainty(ranks: Ranks, k: int) -> None:
    _refuse_no_candidates(ranks)
    if len(ranks) and (ranks.candidates <= max(k, 1)).all():
        raise Undefined(f"no answer had more than {k} candidates" if k else "no answer had a competitor")


def _refuse_no_candidates(ranks: Ranks, k: int = 0) -> None:  # noqa: ARG001
    if (ranks.candidates < 1).any():
        raise Undefined("an answer has no competitor, and does not count itself")


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


AMR = declared(
    "amr aamr adjusted_mean_rank adjusted_arithmetic_mean_rank",
    "adjusted mean rank: MR / E[MR], E[r] = (N + 1) / 2",
    FunctionOfMeans(np.divide, (MEAN_RANK.values, MEAN_RANK.expected_under_random), _refuse_no_candidates),
    source="Berrendorf et al., 2020",
    highest=2,
    increasing=False,
    undefined="no ranks; an answer without any candidate (chance counted without it)",
)

_adjusted = partial(declared, source=HOYT, lowest=-np.inf, undefined="no ranks; no answer had a competitor")
_at_k = partial(_adjusted, cutoff="required", undefined="no ranks; no answer had more than k candidates")

AMRI = _adjusted(
    "amri aamri adjusted_mean_rank_index adjusted_arithmetic_mean_rank_index",
    "adjusted mean rank index: 1 − (MR − 1) / (E[MR] − 1)",
    index(MEAN_RANK),
    source="Berrendorf et al., 2020",
    lowest=-1,
)
AMRR = _adjusted(
    "amrr adjusted_mrr adjusted_mean_reciprocal_rank aihmr adjusted_inverse_harmonic_mean_rank",
    "adjusted mean reciprocal rank: (MRR − E) / (1 − E), E[1/r] = H(N) / N",
    index(MEAN_RECIPROCAL_RANK),
    lowest=-1,
)
ADJUSTED_HITS = _at_k(
    "ahits ah adjusted_hits adjusted_hits_at_{k} ahits_at_{k} ah_at_{k}",
    "adjusted hits at k: (Hits@k − E) / (1 − E), E[r ≤ k] = min(k / N, 1)",
    index(HITS_AT_K),
)
AGMRI = _adjusted(
    "agmri gmri adjusted_geometric_mean_rank_index",
    "adjusted geometric mean rank index: 1 − (GMR − 1) / (E − 1), E = Π (Σ j^(1/n) / N)",
    index_of_geometric_mean,
)


@dataclass(frozen=True)
class ZScore:
    """The function z = ±(M − E[M]) / √V[M] of a mean M of values v, with the sign for which larger is better.

    It is computed as Σ w (v − E[v]) / √(Σ w² V[v]), with weights w that sum to 1. An answer without competitors adds 0,
    whatever its weight; in the difference of two means, a large weight of such an answer would round the others away.
    """

    mean: Mean
    increasing: bool

    def __call__(self, ranks: Ranks, k: int) -> float:
        self.refuse(ranks, k)
        deviations, largest = self._deviations(ranks, k)
        gained = float(ranks.normalized_weights / largest @ self._gained(ranks, k))
        return gained / float(np.linalg.norm(deviations / largest))

    def refuse(self, ranks: Ranks, k: int) -> None:
        refuse_certainty(ranks, k)
        if not self._deviations(ranks, k)[1]:
            raise Undefined("no answer with a weight had a competitor")

    @property
    def terms(self) -> tuple[Callable[[Ranks, int], Float64Array], ...]:
        """The x and y of z = M_x / √M_y: the gain over chance, and w V / Σ w, whose Σ w is that of these answers."""
        return self._gain, self._variance

    @staticmethod
    def combine(gain: Any, variance: Any) -> Any:
        """Compute z of the means of its terms: numbers, or arrays of them."""
        return gain / np.sqrt(variance)

    def _gain(self, ranks: Ranks, k: int) -> Float64Array:
        return self._gained(ranks, k) / self._deviations(ranks, k)[1]

    def _gained(self, ranks: Ranks, k: int) -> Float64Array:
        gained = self.mean.values(ranks, k) - self.mean.expected_under_random(ranks, k)
        return gained if self.increasing else -gained

    def _variance(self, ranks: Ranks, k: int) -> Float64Array:
        largest = self._deviations(ranks, k)[1]
        return np.asarray(ranks.normalized_weights / largest * (self.mean.variances(ranks, k) / largest), np.float64)

    def _deviations(self, ranks: Ranks, k: int) -> tuple[Float64Array, float]:
        """Compute w √V / Σ w and the largest of them; divided by it, squares of tiny weights do not underflow."""
        deviations = ranks.normalized_weights * np.sqrt(self.mean.variances(ranks, k))
        return deviations, float(deviations.max())


def z_score_of_geometric_mean(ranks: Ranks, k: int) -> float:  # noqa: ARG001
    """(E[M] − M) / √V[M], computed as (1 − M / E[M]) / √(V[M] / E[M]²) from logarithms, without cancellation."""
    refuse_certainty(ranks, 0)
    spread = np.sqrt(np.expm1(GEOMETRIC_MEAN.log_relative_square(ranks)))
    return float(-np.expm1(GEOMETRIC_MEAN.log_relative(ranks)) / spread)


_z_score = partial(_adjusted, highest=np.inf)

Z_MR = _z_score(
    "z-mr zmr zamr z_arithmetic_mean_rank",
    "z-scored mean rank: (E − MR) / √V, V[r] = (N² − 1) / 12",
    ZScore(MEAN_RANK, increasing=False),
)
Z_MRR = _z_score(
    "z-mrr zmrr zihmr z_inverse_harmonic_mean_rank",
    "z-scored mean reciprocal rank: (MRR − E) / √V, V[1/r] = (N H₂(N) − H(N)²) / N²",
    ZScore(MEAN_RECIPROCAL_RANK, increasing=True),
)
Z_HITS = _at_k(
    "z-hits zh zhits z_hits_at_{k}",
    "z-scored hits at k: (Hits@k − E) / √V, V[r ≤ k] = p (1 − p), p = min(k / N, 1)",
    ZScore(HITS_AT_K, increasing=True),
    highest=np.inf,
)
Z_GMR = _z_score(
    "z-gmr zgmr z_geometric_mean_rank",
    "z-scored geometric mean rank: (E − GMR) / √V, V = Π (Σ j^(2/n) / N) − E²",
    z_score_of_geometric_mean,
)
