"""Random halves: intervals of units of unequal weights, against the test that they invert, and how often they hold."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval.analysis.comparison.sign_flips import sign_flip_p_values
from kgeval.analysis.comparison.sign_flips import signed_sums as flipped
from kgeval.metrics.intervals.interval import Intervals
from kgeval.metrics.intervals.random_halves import RandomHalves, drawn_signed_sums
from scripts.simulation.differences import Pair
from scripts.simulation.units import Relations, held

WEIGHTS = 1 / np.arange(1.0, 31)
VALUES = np.random.default_rng(0).normal(size=30)


def made(**options):
    shares = WEIGHTS / WEIGHTS.sum()
    mean = shares @ VALUES
    return mean, RandomHalves(shares * (VALUES - mean), shares, np.zeros(30, int), **options)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
@pytest.mark.parametrize("draws", [100, 999, 2000])
def test_the_interval_has_the_values_that_the_sign_flip_test_does_not_reject(level, draws):
    mean, halves = made(signed_sums=flipped)
    ends = mean + np.array(halves.ends(0, Intervals(level=level, draws=draws, seed=3)))
    for end, inwards in zip(ends, (1e-9, -1e-9), strict=True):
        inside, outside = (
            sign_flip_p_values((WEIGHTS * (VALUES - value))[:, None], draws=draws, seed=3)[0]
            for value in (end + inwards, end - inwards)
        )
        assert outside <= 1 - level + 1e-12 < inside


def test_signs_are_fair_and_independent_and_of_the_seed():
    units = np.eye(7)
    signs = drawn_signed_sums(units, 20_000, 5)
    assert set(np.unique(signs)) == {-1, 1}
    np.testing.assert_allclose(np.cov(signs.T, bias=True), units, atol=0.03)
    np.testing.assert_array_equal(signs[:100], drawn_signed_sums(units, 100, 5))
    assert (signs[:100] != drawn_signed_sums(units, 100, 6)).any()


def test_units_of_about_equal_weights_keep_the_interval_of_student():
    rng = np.random.default_rng(1)
    for weights in (np.ones(20), rng.poisson(80, 30), np.r_[np.ones(100), 2]):
        shares = weights / weights.sum()
        assert not RandomHalves(shares, shares, np.zeros(len(shares), int)).needed[0]
    assert made()[1].needed[0]


def test_a_mean_is_held_where_one_relation_has_half_of_all_triples():
    shares = held(Relations("Zipf, fixed", 30, 1.6), 400)
    assert min(own for _, own in shares.values()) > 0.92


@pytest.mark.parametrize(
    "sizes", [Relations("equal", 20), Relations("lognormal", 50), Relations("Zipf, fixed", 30, 1.6)]
)
def test_a_difference_is_held_and_its_interval_has_0_where_the_test_does_not_reject_it(sizes):
    """Of 400 draws, a share that is 95 % has a standard error of 1.1 %. Student's interval fails at unequal sizes."""
    for metric, right in Pair(sizes, 0.5).right(400).items():
        assert right.held == pytest.approx(0.95, abs=0.033), metric
        assert (right.rejected, right.agreed) == (pytest.approx(1 - right.held), 1)
        assert right.by_student < 0.93 or sizes.sizes == "equal"


def test_hits_are_held_where_sizes_are_drawn_from_a_zipf():
    without, with_halves = held(Relations("Zipf, drawn", 30, 1.3), 400)["hits@10"]
    assert without < 0.93 < with_halves
