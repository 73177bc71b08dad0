"""The size of the sign-flip test, the error of Holm's family, the power at the detectable difference, by simulation."""

from __future__ import annotations

import pytest

from scripts.simulation.flips import COLUMNS, family_error, power, size, size_by_row
from tests.simulated import draws, error

DRAWS = draws(1600)


def test_a_true_null_is_rejected_as_often_as_the_level_says_and_flips_of_rows_would_reject_it_far_too_often():
    assert size(DRAWS) == pytest.approx(0.05, abs=error(0.05, DRAWS))
    assert size_by_row(400) > 0.3


@pytest.mark.parametrize("better", [0, 3])
def test_holm_keeps_the_error_of_the_family(better):
    """A true null, or several, is rejected in at most 5 % of families, and what chance adds."""
    wrong, right = family_error(2 * DRAWS, better)
    assert wrong <= 0.05 + error(0.05, 2 * DRAWS // COLUMNS)
    assert right > 0.8 or not better


def test_the_detectable_difference_is_found_in_four_of_five_draws():
    assert power(DRAWS // 2) == pytest.approx(0.8, abs=error(0.8, DRAWS // 2))
