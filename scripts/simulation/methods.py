"""Standard errors and degrees of freedom of many draws at once, by kgeval's formulas, by others, and by naive ones.

Each method takes the means of the runs, float64[draw, run], their covariance if triples are resampled,
float64[draw, run, run], the numbers of runs of one model or two, and the number of triples.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import stdtrit

TINY = 1e-300
"""what divides where all runs of a draw have the same metric, as hits may"""

Spread = tuple[np.ndarray, np.ndarray]
"""the variance of a mean, or of a difference of means, and its degrees of freedom; float64[draw] each"""

Method = Callable[[np.ndarray, np.ndarray, tuple[int, ...], int], Spread]


def parts(means: np.ndarray, covariance: np.ndarray, seeds: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """What the runs of each model leave of the variance, s²/R, and what the triples do; [model, draw] and [draw]."""
    cuts = np.cumsum(seeds)[:-1]
    of_seeds = [
        own.var(axis=1, ddof=1) / own.shape[1] if own.shape[1] > 1 else np.zeros(len(own))
        for own in np.split(means, cuts, axis=1)
    ]
    kinds = np.repeat(np.arange(len(seeds)), seeds)
    same, itself = kinds[:, None] == kinds, np.eye(len(kinds), dtype=bool)
    found = np.zeros(len(means))
    for model, count in enumerate(seeds):
        own = same & (kinds == model) & ((count == 1) | ~itself)
        found += covariance[:, own].mean(axis=1)
    if len(seeds) > 1:
        found -= 2 * covariance[:, ~same].mean(axis=1)
    return np.array(of_seeds), np.maximum(found, 0)


def random_effects(means: np.ndarray, covariance: np.ndarray, seeds: tuple[int, ...], triples: int) -> Spread:
    """Degrees of freedom averaged by shares in the variance, those of the seeds by Welch (1947): kgeval's."""
    of_seeds, of_triples = parts(means, covariance, seeds)
    total = of_seeds.sum(axis=0)
    squares = (of_seeds**2 / (np.array(seeds)[:, None] + 1)).sum(axis=0)
    welch = np.where(total > 0, total**2 / np.maximum(squares, TINY) - 2, 1)
    return total + of_triples, (total + of_triples) / (total / welch + of_triples / (triples - 1))


def satterthwaite(means: np.ndarray, covariance: np.ndarray, seeds: tuple[int, ...], triples: int) -> Spread:
    """V² / Σ (v² / f), of the same variance (Satterthwaite, 1946)."""
    of_seeds, of_triples = parts(means, covariance, seeds)
    freedom = np.maximum(np.array(seeds)[:, None] - 1, 1)
    variance = of_seeds.sum(axis=0) + of_triples
    return variance, variance**2 / ((of_seeds**2 / freedom).sum(axis=0) + of_triples**2 / (triples - 1))


def pooled(means: np.ndarray, covariance: np.ndarray, seeds: tuple[int, ...], triples: int) -> Spread:
    """Seeds of both models pooled: of their part the degrees are all runs less two (Hillis, 2007)."""
    of_seeds, of_triples = parts(means, covariance, seeds)
    freedom = sum(seeds) - len(seeds)
    total = sum((count - 1) * count * own for count, own in zip(seeds, of_seeds, strict=True)) / freedom
    total = total * sum(1 / count for count in seeds if count > 1)
    variance = total + of_triples
    return variance, variance**2 / (total**2 / freedom + of_triples**2 / (triples - 1))


def pigeonhole(means: np.ndarray, covariance: np.ndarray, seeds: tuple[int, ...], triples: int) -> Spread:
    """The pigeonhole bootstrap (Owen, 2007) of endless draws, with the share that few runs lose; of one model."""
    (of_seeds,), _ = parts(means, covariance, seeds)
    runs = seeds[0]
    of_units = covariance.mean(axis=(1, 2)) * (triples - 1) / triples  # Σ β² / n²
    both = np.trace(covariance, axis1=1, axis2=2) * (triples - 1) / triples - runs * of_units  # Σ γ² / n²
    variance = of_seeds + of_units + both / runs**2
    rest = variance - of_seeds
    return variance, variance**2 / (of_seeds**2 / (runs - 1) + rest**2 / (triples - 1))


def triples_only(means: np.ndarray, covariance: np.ndarray, seeds: tuple[int, ...], triples: int) -> Spread:
    """The runs are taken for all there are: the means over them, by triple."""
    weights = _weights(seeds)
    return weights @ covariance @ weights, np.full(len(means), triples - 1.0)


def seeds_only(means: np.ndarray, covariance: np.ndarray, seeds: tuple[int, ...], _triples: int) -> Spread:
    """Student's t (Welch's, of two models) over the runs' metrics, as a claim about other triples."""
    of_seeds, _ = parts(means, covariance, seeds)
    total, freedom = of_seeds.sum(axis=0), np.maximum(np.array(seeds)[:, None] - 1, 1)
    return total, np.maximum(total**2, TINY) / np.maximum((of_seeds**2 / freedom).sum(axis=0), TINY)


def independent_rows(means: np.ndarray, covariance: np.ndarray, seeds: tuple[int, ...], triples: int) -> Spread:
    """Treat every triple of every run as an independent row."""
    counts = np.repeat(seeds, seeds)
    squares = np.diagonal(covariance, axis1=1, axis2=2) * triples
    return (squares / counts**2).sum(axis=1) / triples, np.full(len(means), sum(seeds) * triples - 1.0)


def _weights(seeds: tuple[int, ...]) -> np.ndarray:
    return np.concatenate([np.full(count, sign / count) for count, sign in zip(seeds, (1, -1), strict=False)])


def shares_missed(
    method: Method, means: np.ndarray, covariance: np.ndarray, seeds: tuple[int, ...], triples: int, true: float
) -> float:
    """In how many draws the true value is outside of the 95 % interval, so that the test rejects it."""
    variance, degrees = method(means, covariance, seeds, triples)
    distance = np.abs(means @ _weights(seeds) - true)
    return float((distance > stdtrit(degrees, 0.975) * np.sqrt(variance)).mean())
