"""Sign flips: the size of the test, the error of Holm's family, and the power at the detectable difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kgeval.analysis.comparison.adjustment import holm
from kgeval.analysis.comparison.pair_tests import detectable_difference
from kgeval.analysis.comparison.sign_flips import sign_flip_p_values
from kgeval.metrics.intervals.mean_terms import standard_error

UNITS, ROWS, COLUMNS = 60, 12, 8
"""relations with their rows, and metrics (or draws of the data) that are tested with the same signs"""

MANY = 300
"""relations, where the power is counted"""


def rows(draws: int) -> Iterator[str]:
    """What is rejected, in percent, line by line."""
    yield "| of draws, percent | expected | found |"
    yield "|---|---|---|"
    wrong, right = family_error(draws, better=3)
    for title, expected, share in (
        ("true nulls that are rejected", "5", size(draws)),
        ("the same if rows were flipped alone", "far more", size_by_row(draws)),
        ("families of true nulls with a rejection, after Holm", "at most 5", family_error(draws)[0]),
        ("the same, of eight nulls of which three are false", "at most 5", wrong),
        ("false nulls of these that are rejected", "–", right),
        ("differences as large as detectable that are found", "80", power(draws)),
    ):
        yield f"| {title} | {expected} | {100 * share:.1f} |"


def p_values_of_draws(draws: int, make: Callable[[np.random.Generator], np.ndarray]) -> np.ndarray:
    """P-values of sign flips of many draws of the data, each eight with signs of their own."""
    return np.concatenate(
        [sign_flip_p_values(make(np.random.default_rng([7, draw])), draws=999, seed=draw) for draw in range(draws // 8)]
    )


def rows_with_unit_effects(rng: np.random.Generator) -> np.ndarray:
    """Differences of rows whose units lean to either model, neither being better; float64[unit, row, column]."""
    effects = rng.normal(0, 1, (UNITS, 1, COLUMNS)) * rng.choice([0.2, 2], (UNITS, 1, 1))
    return effects + rng.normal(0, 1, (UNITS, ROWS, COLUMNS))


def size(draws: int) -> float:
    return float((p_values_of_draws(draws, lambda rng: rows_with_unit_effects(rng).sum(1)) <= 0.05).mean())


def size_by_row(draws: int) -> float:
    by_row = p_values_of_draws(draws, lambda rng: rows_with_unit_effects(rng).reshape(-1, COLUMNS))
    return float((by_row <= 0.05).mean())


def family_error(draws: int, better: int = 0) -> tuple[float, float]:
    """The shares of families in which a true null is rejected, and of false nulls that are; metrics correlate."""

    def make(rng: np.random.Generator) -> np.ndarray:
        common = rng.normal(0, 1, (UNITS, 1))
        return 0.6 * common + rng.normal(0, 1, (UNITS, COLUMNS)) + 0.6 * (np.arange(COLUMNS) < better)

    adjusted = np.array([holm(own) for own in p_values_of_draws(draws, make).reshape(-1, COLUMNS)]) <= 0.05
    return float(adjusted[:, better:].any(1).mean()), float(adjusted[:, :better].mean()) if better else 0.0


def power(draws: int) -> float:
    """How often a difference is found that is as large as the detectable one."""

    def sums(rng: np.random.Generator) -> np.ndarray:
        return rng.exponential(1, (MANY, COLUMNS)) - 1 + rng.normal(0, 0.5, (MANY, COLUMNS))

    of_units = np.concatenate([sums(np.random.default_rng([1, draw])) for draw in range(50)])
    error = standard_error(of_units.ravel() / of_units.size) * np.sqrt(of_units.size / MANY)
    shift = detectable_difference(error, level=0.95)
    return float((p_values_of_draws(draws, lambda rng: sums(rng) + shift) <= 0.05).mean())
