"""Estimators of means from stratified samples, beside enumeration of all samples, numpy and a worked example."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval.metrics.intervals.sampling import Phases, Strata, next_size
from kgeval.metrics.intervals.stratified_sample import (
    Auxiliary,
    StratifiedSample,
    auxiliary_values,
)

numbers = st.floats(0, 1, allow_subnormal=False)


def samples(sizes, counts):
    """All samples of so many of each stratum: the chosen triples, which are numbered stratum after stratum."""
    starts = np.cumsum(sizes) - sizes
    of_each = [
        combinations(range(start, start + size), count)
        for start, size, count in zip(starts, sizes, counts, strict=True)
    ]
    return [np.concatenate(chosen).astype(int) for chosen in product(*of_each)]


@settings(max_examples=20)
@given(st.lists(numbers, min_size=9, max_size=9))
def test_estimate_and_variance_are_unbiased_over_all_samples(values):
    sizes, counts = np.array([5, 4]), np.array([3, 2])
    y, strata = np.array(values), np.repeat([0, 1], sizes)
    found = []
    for chosen in samples(sizes, counts):
        sample = StratifiedSample(strata[chosen], counts, sizes)
        found.append((sample.weights @ y[chosen], sample.variance(y[chosen])))
    estimates, variances = np.array(found).T
    assert len(estimates) == 10 * 6
    assert estimates.mean() == pytest.approx(y.mean(), abs=1e-12)
    assert variances.mean() == pytest.approx(estimates.var(), abs=1e-12)


@settings(max_examples=20)
@given(st.lists(numbers, min_size=9, max_size=9))
def test_a_whole_population_has_no_error(values):
    sizes = np.array([5, 4])
    sample = StratifiedSample(np.repeat([0, 1], sizes), sizes, sizes)
    assert sample.weights @ np.array(values) == pytest.approx(np.mean(values))
    assert sample.variance(np.array(values)) == 0


def test_triples_that_are_not_at_hand_have_the_value_zero():
    strata, counts, sizes = np.array([0, 0, 0, 1, 1]), np.array([3, 2]), np.array([6, 9])
    values = np.array([0.5, 0.0, 1.0, 0.25, 0.0])
    whole, some = StratifiedSample(strata, counts, sizes), StratifiedSample(strata[[0, 2, 3]], counts, sizes)
    assert some.weights @ values[[0, 2, 3]] == pytest.approx(whole.weights @ values)
    assert some.variance(values[[0, 2, 3]]) == pytest.approx(whole.variance(values))


PEACHES = np.array([61, 42, 50, 58, 67, 45, 39, 57, 71, 53.0])
BY_EYE = np.array([59, 47, 52, 60, 67, 48, 44, 58, 76, 58.0])
"""Cochran (1977), exercise 7.1: the peaches of 10 of 200 trees, weighed and judged by eye; 11,600 judged of all"""


def test_the_regression_of_a_textbook():
    known = Auxiliary(BY_EYE[:, None], np.array([200]), np.array([[11_600 / 200]]))
    sample = StratifiedSample(np.zeros(10, int), np.array([10]), np.array([200]), known)
    slope, constant = np.polyfit(BY_EYE, PEACHES, 1)
    assert sample.weights @ PEACHES == pytest.approx(constant + slope * 58)
    residuals = PEACHES - constant - slope * BY_EYE
    calibration = 1 + (58 - BY_EYE.mean()) * (BY_EYE - BY_EYE.mean()) / ((BY_EYE - BY_EYE.mean()) ** 2).mean()
    centred = residuals * calibration - (residuals * calibration).mean()
    assert sample.variance(PEACHES) == pytest.approx((1 - 10 / 200) / 10 * (centred**2).sum() / 8)
    assert sample.degrees == 8
    assert sample.explained(PEACHES) == pytest.approx(1 - (residuals @ residuals / 8) / PEACHES.var(ddof=1), rel=0.05)


def auxiliary(seed=0, repeated=False):
    """A sample of 60 of two strata, with two auxiliary values that are known of 150, and the population's values."""
    rng = np.random.default_rng(seed)
    sizes, known, counts = np.array([400, 200]), np.array([100, 50]), np.array([40, 20])
    x = rng.normal(size=(600, 2)) + np.repeat([[0.0], [2.0]], sizes, axis=0)
    x = np.c_[x, x[:, :1]] if repeated else x
    first = np.r_[:100, 400:450]
    means = np.stack([x[:100].mean(axis=0), x[400:450].mean(axis=0)])
    chosen = np.r_[:40, 400:420]
    sample = StratifiedSample(np.repeat([0, 1], counts), counts, sizes, Auxiliary(x[chosen], known, means))
    return x, first, chosen, sample


def test_two_phases_in_numpy():
    x, first, chosen, sample = auxiliary(1)
    y = x @ [1.0, -2.0] + np.random.default_rng(2).normal(size=600)
    strata = np.repeat([0, 1], [400, 200])
    design = sm_ols(y[chosen], x[chosen], strata[chosen])
    assert sample.weights @ y[chosen] == pytest.approx(
        y[chosen].mean() + design @ (x[first] - x[chosen].mean(0)).mean(0)
    )
    residuals = np.concatenate([_centred((y - x @ design)[part]) for part in (chosen[:40], chosen[40:])])
    residuals *= sample.weights * 60
    parts = [
        (residuals[:40], y[chosen[:40]], 2 / 3, 40, 100, 400),
        (residuals[40:], y[chosen[40:]], 1 / 3, 20, 50, 200),
    ]
    lost = (60 - 2) / (60 - 2 - 2)
    expected = sum(
        share**2 * ((1 / n - 1 / first) * lost * e.var(ddof=1) + (1 / first - 1 / of) * values.var(ddof=1))
        for e, values, share, n, first, of in parts
    )
    assert sample.variance(y[chosen]) == pytest.approx(expected)


def sm_ols(y, x, strata):
    """Slopes with a constant for each stratum."""
    return np.linalg.lstsq(np.c_[x, strata[:, None] == np.unique(strata)], y, rcond=None)[0][: x.shape[1]]


def _centred(values):
    return values - values.mean()


def test_what_the_auxiliary_values_explain_wholly_has_the_error_of_the_first_phase_alone():
    x, first, chosen, sample = auxiliary(3)
    y = 1 + x @ [0.5, 0.25]
    assert sample.weights @ y[chosen] == pytest.approx(y[first].mean())
    assert sample.explained(y[chosen]) == pytest.approx(1)
    of_first = sum(
        share**2 * (1 / known - 1 / of) * y[part].var(ddof=1)
        for share, known, of, part in ((2 / 3, 100, 400, chosen[:40]), (1 / 3, 50, 200, chosen[40:]))
    )
    assert sample.variance(y[chosen]) == pytest.approx(of_first)


def test_values_that_repeat_each_other_change_nothing():
    y = np.random.default_rng(4).normal(size=60)
    plain, repeated = auxiliary(5)[3], auxiliary(5, repeated=True)[3]
    assert repeated.weights == pytest.approx(plain.weights)
    assert repeated.variance(y) == pytest.approx(plain.variance(y))
    assert repeated.degrees == plain.degrees


@settings(max_examples=25)
@given(st.lists(st.integers(1, 1500), min_size=1, max_size=40), st.integers(100, 600))
def test_every_stratum_has_two_triples_in_the_first_sample_and_ever_after(frequencies, first):
    relations = np.repeat(np.arange(len(frequencies)), frequencies)
    strata = Strata.of(relations, first)
    assert len(np.unique(np.stack([relations, strata.ids]), axis=1).T) == len(frequencies)  # no relation is divided
    assert (strata.sizes == np.bincount(strata.ids)).all()
    if first < len(relations):
        drawn = np.bincount(strata.ids[strata.order(0)[:first]], minlength=len(strata.sizes))
        assert drawn.min() >= 2
        assert np.abs(drawn - first * strata.sizes / len(relations)).max() <= 0.5 + len(strata.sizes) / 2


def test_the_size_of_each_stratum_in_a_sample_does_not_depend_on_the_seed():
    strata = Strata.of(np.random.default_rng(0).integers(0, 7, 500) ** 2, 100)
    orders = [strata.order(seed) for seed in range(5)]
    assert all((np.sort(order) == np.arange(500)).all() for order in orders)
    assert all((strata.ids[order] == strata.ids[orders[0]]).all() for order in orders)
    assert not (orders[0] == orders[1]).all()


def test_every_triple_of_a_stratum_is_drawn_as_often_and_with_each_other():
    strata = Strata(np.array([0, 0, 0, 0, 1, 1, 1]), np.array([4, 3]))
    drawn = np.zeros((4000, 7))
    for seed in range(4000):
        drawn[seed, strata.order(seed)[:4]] = 1  # two of each stratum
    assert drawn.mean(axis=0) == pytest.approx(np.repeat([2 / 4, 2 / 3], [4, 3]), abs=0.03)  # 3.8 standard errors
    together = drawn.T @ drawn / 4000
    assert together[0, 1:4] == pytest.approx(1 / 6, abs=0.025)
    assert together[0, 4:] == pytest.approx(2 / 4 * 2 / 3, abs=0.03)


def test_auxiliary_values_are_means_over_the_sides():
    values = auxiliary_values(np.array([1, 0, 1, 0]), np.array([0, 9, 1, 3]), np.array([0, 0, 1, 0]))
    ranks = np.array([[10, 4], [1, 2.5]])
    columns = [1 / ranks, ranks <= 1, ranks <= 3, ranks <= 10, np.log(ranks)]
    assert values == pytest.approx(np.stack([column.mean(axis=1) for column in columns], axis=1))


@given(st.integers(100, 10**6), st.floats(1.01, 50), st.integers(2, 1000))
def test_the_next_sample_is_larger_and_aims_at_the_error(drawn, too_wide, times):
    of = drawn * times
    size = next_size(drawn, half_width=too_wide, error=1.0, of=of)
    assert drawn < size <= min(of, 4 * drawn)
    reached = too_wide * np.sqrt((1 / size - 1 / of) / (1 / drawn - 1 / of))
    assert reached <= 1 or size == 4 * drawn


@given(st.floats(0.3, 0.99), st.floats(0.001, 0.5))
def test_no_other_ratio_of_phases_has_a_smaller_variance_at_its_cost(explained, cost):
    phases = Phases(explained, cost)
    if phases.ratio <= 1:
        assert not phases.pays(1e-4, of=10**9, first=100)
        return
    budgets = [
        (1 - explained + explained / ratio) * (1 + cost * ratio) for ratio in phases.ratio * np.array([1, 0.8, 1.25])
    ]
    assert budgets[0] <= min(budgets) * (1 + 1e-9)
    assert phases.pays(1e-4, of=10**9, first=100) == (budgets[0] < 1)
