"""Made runs of two models: ranks whose expectation is known, with effects of triples, models, runs and all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import ndtr

ENTITIES = 1_000
"""the worst rank"""

CENTRE = 1.2
"""the mean of a rank's logarithm"""

TRIPLE, OF_MODEL, OF_RUN = 1.0, 0.5, 0.7
"""standard deviations of the logarithm: by the triple, which is as hard for all models; by the triple for one model, in
all of its runs; and by the triple and side in one run"""


@dataclass(frozen=True)
class Cell:
    """Two models that were trained with some seeds; of one run without a seed effect, a baseline."""

    seeds: tuple[int, int]
    effects: tuple[float, float]
    """standard deviations of the seed effects, each beside the standard error that the triples leave of one run"""
    metric: Literal["mrr", "hits@10"] = "mrr"
    triples: int = 1_000

    @cached_property
    def scales(self) -> tuple[float, float]:
        """Standard deviations of the seed effects on a rank's logarithm."""
        rng, step = np.random.default_rng(0), 0.01
        units = self.values(drawn_ranks(rng, (1,), (0.0,), 100_000))
        error = units.std() / np.sqrt(self.triples)
        slope = (self.expectation(0, CENTRE - step) - self.expectation(0, CENTRE + step)) / (2 * step)
        one, other = (effect * float(error / slope) for effect in self.effects)
        return one, other

    def values(self, ranks: np.ndarray) -> np.ndarray:
        """The metric of each run and triple, of both sides together; float64[run, triple]."""
        return (1 / ranks if self.metric == "mrr" else ranks <= 10).mean(axis=-1)

    def expectation(self, scale: float, centre: float = CENTRE) -> float:
        """The exact expectation of the metric over triples and seeds: a rank is the whole part of a log-normal one."""
        spread = np.sqrt(TRIPLE**2 + OF_MODEL**2 + OF_RUN**2 + scale**2)
        ranks = np.arange(1, ENTITIES + 1)
        below = np.r_[0, ndtr((np.log(ranks[1:]) - centre) / spread), 1]
        return float(np.diff(below) @ self.values(ranks[:, None]))

    @property
    def expectations(self) -> tuple[float, float]:
        one, other = map(self.expectation, self.scales)
        return one, other

    def draws(self, count: int, seed: int = 0) -> Iterator[np.ndarray]:
        """Draw seeds and triples anew, again and again; int64[run, triple, side], the first model's runs first."""
        rng = np.random.default_rng([seed, len(self.metric), *self.seeds, *(int(10 * one) for one in self.effects)])
        for _ in range(count):
            yield drawn_ranks(rng, self.seeds, self.scales, self.triples)

    def statistics(self, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """The mean of each run in each draw, and the covariance of these means if only triples are resampled.

        float64[draw, run] and float64[draw, run, run].
        """
        means, covariances = [], []
        for ranks in self.draws(count, seed):
            values = self.values(ranks)
            means.append(values.mean(axis=1))
            covariances.append(np.cov(values) / self.triples)
        return np.array(means), np.array(covariances)


def drawn_ranks(
    rng: np.random.Generator, seeds: tuple[int, ...], scales: tuple[float, ...], triples: int
) -> np.ndarray:
    hardness = CENTRE + TRIPLE * rng.standard_normal(triples)
    runs = []
    for count, scale in zip(seeds, scales, strict=True):
        of_model = hardness + OF_MODEL * rng.standard_normal(triples)
        of_runs = of_model + scale * rng.standard_normal((count, 1))
        runs.append(of_runs[..., None] + OF_RUN * rng.standard_normal((count, triples, 2)))
    return np.clip(np.exp(np.concatenate(runs)), 1, ENTITIES).astype(np.int64)
