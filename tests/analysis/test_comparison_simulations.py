"""Simulations: the size of the sign-flip test, the error of Holm's family, the power at the detectable difference."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval.analysis.comparison.pair_tests import detectable_difference
from kgeval.analysis.comparison.sign_flips import holm, sign_flip_p_values
from kgeval.metrics.intervals.mean_terms import standard_error

UNITS, ROWS, COLUMNS = 60, 12, 8
"""relations with their rows, and metrics (or draws of the data) that are tested with the same signs"""


def p_values_of_draws(draws, make):
    """P-values of sign flips of many draws of the data, each eight with signs of their own."""
    return np.concatenate(
        [sign_flip_p_values(make(np.random.default_rng([7, draw])), draws=999, seed=draw) for draw in range(draws // 8)]
    )


def rows_with_unit_effects(rng):
    """Differences of rows whose units lean to either model, neither being better; float64[unit, row, column]."""
    effects = rng.normal(0, 1, (UNITS, 1, COLUMNS)) * rng.choice([0.2, 2], (UNITS, 1, 1))
    return effects + rng.normal(0, 1, (UNITS, ROWS, COLUMNS))


def test_a_true_null_is_rejected_as_often_as_the_level_says():
    rejected = (p_values_of_draws(2000, lambda rng: rows_with_unit_effects(rng).sum(1)) <= 0.05).mean()
    assert rejected == pytest.approx(0.05, abs=0.012)


def test_flips_of_rows_would_reject_it_far_too_often():
    by_row = p_values_of_draws(400, lambda rng: rows_with_unit_effects(rng).reshape(-1, COLUMNS))
    assert (by_row <= 0.05).mean() > 0.3


def family(rng, better=0):
    """Differences by correlated metrics, as of one pair of models, of which the first few are real."""
    common = rng.normal(0, 1, (UNITS, 1))
    return 0.6 * common + rng.normal(0, 1, (UNITS, COLUMNS)) + 0.6 * (np.arange(COLUMNS) < better)


@pytest.mark.parametrize("better", [0, 3])
def test_holm_keeps_the_error_of_the_family(better):
    """A true null, or several, is rejected in at most 5 % of families (and what chance adds to 1,000 of them)."""
    p_values = p_values_of_draws(8000, lambda rng: family(rng, better)).reshape(1000, COLUMNS)
    adjusted = np.array([holm(own) for own in p_values])
    assert (adjusted[:, better:] <= 0.05).any(1).mean() <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 1000)
    if better:
        assert (adjusted[:, :better] <= 0.05).mean() > 0.8
    else:
        assert (p_values <= 0.05).any(1).mean() > 0.15


def test_the_detectable_difference_is_found_in_four_of_five_draws():
    units = 300

    def sums(rng):
        return rng.exponential(1, (units, COLUMNS)) - 1 + rng.normal(0, 0.5, (units, COLUMNS))

    of_units = np.concatenate([sums(np.random.default_rng([1, draw])) for draw in range(50)])
    error = standard_error(of_units.ravel() / of_units.size) * np.sqrt(of_units.size / units)
    shift = detectable_difference(error, level=0.95)
    found = (p_values_of_draws(1000, lambda rng: sums(rng) + shift) <= 0.05).mean()
    assert found == pytest.approx(0.8, abs=0.04)
