"""Sign flips: every flip of few units, a plain sum, ties by rounding, Holm; and metrics that are computed anew."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.stats import permutation_test

from kgeval import Metric, compare
from kgeval.analysis.comparison.adjustment import holm
from kgeval.analysis.comparison.flip_kernel import UNITS, add_signed_sums
from kgeval.analysis.comparison.sign_flips import sign_flip_p_values, signed_sums
from kgeval.base.errors import MetricError
from kgeval.base.threads import bound_threads
from kgeval.metrics.ranks.rank_metrics import MRR
from tests.analysis.test_paired_differences import TABLES

RNG = np.random.default_rng(0)


def signs(units, draws, seed):
    """The signs that the kernel uses, found by flipping one unit at a time."""
    return signed_sums(np.eye(units), draws=draws, seed=seed)


def test_sums_are_those_of_numpy():
    contributions = RNG.normal(size=(83, 11))
    flips = signs(83, 500, 7)
    assert set(np.unique(flips)) == {-1.0, 1.0}
    np.testing.assert_allclose(signed_sums(contributions, draws=500, seed=7), flips @ contributions, atol=1e-12)


def test_p_values_count_the_draws_that_are_as_far_from_zero():
    contributions = RNG.normal(0.15, 1, size=(60, 3))
    sums = signs(60, 999, 1) @ contributions
    expected = (1 + (abs(sums) >= abs(contributions.sum(0))).sum(0)) / 1000
    np.testing.assert_array_equal(sign_flip_p_values(contributions, draws=999, seed=1), expected)


@pytest.mark.parametrize("values", [RNG.normal(0.4, 1, 11), RNG.integers(-2, 4, 11) / 10, np.r_[np.ones(9), 0, 0]])
def test_many_draws_come_near_to_all_flips(values):
    """Of 11 units all 2,048 flips, as scipy counts them; equal sums of tenths are ties in spite of rounding."""
    every = np.array(list(itertools.product([-1, 1], repeat=11)))
    exact = (abs(every @ values) >= abs(values.sum()) - 1e-12).mean()
    scipy = permutation_test((values,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert scipy.pvalue == pytest.approx(exact)
    draws = 200_000
    (p,) = sign_flip_p_values(values[:, None], draws=draws)
    assert abs(p - exact) < 5 * np.sqrt(exact * (1 - exact) / draws)


def test_all_flips_of_a_group_are_exact():
    """The kernel's own table of 256 sums, each reached by the byte that names it."""
    units = RNG.normal(size=(1, UNITS, 8))
    sums = np.zeros((80_000, 8))
    add_signed_sums(units, np.uint64(3), 0, sums)
    every = np.array(list(itertools.product([-1, 1], repeat=8))) @ units[0]
    distinct = np.unique(sums.round(9), axis=0)
    np.testing.assert_allclose(distinct, every[np.lexsort(every.T[::-1])], atol=1e-8)


def test_signs_are_fair_and_independent():
    flips = signs(40, 100_000, 5)
    assert abs(flips.mean(0)).max() < 5 / np.sqrt(100_000)
    assert abs(np.corrcoef(flips.T) - np.eye(40)).max() < 5 / np.sqrt(100_000)


def test_equal_sums_count_as_equal_in_spite_of_rounding():
    """A tenth from each of many units, whose sum depends on the order: half of the units have no say."""
    contributions = np.r_[np.full(6, 0.1), np.zeros(3000)][RNG.permutation(3006)][:, None]
    (p,) = sign_flip_p_values(contributions, draws=64_000)
    assert abs(p - 2 / 64) < 5 * np.sqrt(2 / 64 / 64_000)


def test_nothing_but_seed_and_units_changes_a_p_value():
    contributions = RNG.normal(0.05, 1, size=(300, 9))
    expected = sign_flip_p_values(contributions, seed=4)
    with bound_threads(1):
        np.testing.assert_array_equal(sign_flip_p_values(contributions, seed=4), expected)
    for column in (0, 8):
        assert sign_flip_p_values(contributions[:, [column]], seed=4) == expected[column]
    np.testing.assert_array_equal(sign_flip_p_values(-contributions, seed=4), expected)
    assert (sign_flip_p_values(contributions, seed=5) != expected).any()
    np.testing.assert_array_equal(
        signed_sums(contributions, draws=100, seed=4), signed_sums(contributions, draws=5000, seed=4)[:100]
    )


def test_no_difference_at_all_has_a_p_value_of_one():
    assert sign_flip_p_values(np.zeros((50, 2))).tolist() == [1, 1]


@pytest.mark.parametrize("draws", [0, -1, 10**6 + 1, 2.5, True, None])
def test_draws_are_a_whole_number(draws):
    with pytest.raises(MetricError, match="draws: expected a whole number from 1 to 1,000,000"):
        sign_flip_p_values(np.ones((30, 1)), draws=draws)


def test_holm_rejects_as_the_step_down_procedure():
    """Holm's definition: from the smallest p-value on, reject while it is at most α / (how many are left)."""
    for _ in range(200):
        p_values = RNG.uniform(0, 0.2, 7) ** 2
        rejected = set()
        for step, place in enumerate(np.argsort(p_values)):
            if p_values[place] > 0.05 / (7 - step):
                break
            rejected.add(int(place))
        assert set(np.flatnonzero(holm(p_values) <= 0.05).tolist()) == rejected


def test_holm_by_hand():
    """.01 · 4 = .04; .02 · 3 = .06; .03 · 2 = .06, not below the one before; .5."""
    np.testing.assert_allclose(holm(np.array([0.5, 0.03, 0.01, 0.02])), [0.5, 0.06, 0.04, 0.06])
    np.testing.assert_allclose(holm(np.array([0.9, 0.8])), [1, 1])
    assert holm(np.array([])).tolist() == []


BY_BRUTE_FORCE = {"median": np.median, "gmr": stats.gmean, "inverse-median": lambda ranks: 1 / np.median(ranks)}


@pytest.mark.parametrize("metric", BY_BRUTE_FORCE)
def test_the_p_value_is_that_of_an_independent_permutation_test(metric):
    """Of another generator, so up to chance: whole triples are swapped or drawn, both of whose sides go along."""
    (pair, *_) = compare(TABLES, [metric], seed=1).pairs
    ranks = {}
    for name in ("sines", "sums"):
        frame = TABLES[name].to_pandas().sort_values(["triple", "side"])
        ranks[name] = (1 + frame["greater"] + frame["tied"] / 2).to_numpy().reshape(-1, 2)
    compute = BY_BRUTE_FORCE[metric]
    assert pair.difference == pytest.approx(compute(ranks["sines"].ravel()) - compute(ranks["sums"].ravel()))
    rng, found = np.random.default_rng(0), []
    for _ in range(2000):
        swap = rng.random((len(ranks["sines"]), 1)) < 0.5
        own, other = np.where(swap, ranks["sums"], ranks["sines"]), np.where(swap, ranks["sines"], ranks["sums"])
        found.append(compute(own.ravel()) - compute(other.ravel()))
    expected = (np.abs(found) >= abs(pair.difference) - 1e-12).mean()
    spread = np.sqrt(expected * (1 - expected) * (1 / 2000 + 1 / 999))
    assert abs(pair.p - expected) <= 4 * spread + 0.002
    assert pair.draws == 999
    drawn = []
    for _ in range(1000):
        rows = rng.integers(0, len(ranks["sines"]), len(ranks["sines"]))
        drawn.append(compute(ranks["sines"][rows].ravel()) - compute(ranks["sums"][rows].ravel()))
    assert pair.interval.standard_error == pytest.approx(np.std(drawn), rel=0.15)
    assert pair.interval.low <= pair.difference <= pair.interval.high


def test_a_mean_that_is_not_known_to_be_one_has_nearly_the_same_interval():
    own = replace(MRR, name="own", synonyms=(), compute=lambda ranks, k: float(MRR.compute(ranks, k)))
    for known, drawn in zip(*(compare(TABLES, [metric]).pairs for metric in ("mrr", own)), strict=True):
        assert drawn.difference == pytest.approx(known.difference, abs=1e-14)
        assert drawn.interval.method.startswith("bootstrap")
        assert drawn.interval.standard_error == pytest.approx(known.interval.standard_error, rel=0.08)
        assert drawn.p == pytest.approx(known.p, abs=0.05)


def test_it_is_said_which_metrics_are_resampled():
    notes = compare(TABLES, ["mrr", "median"]).notes
    assert any("median: interval by a paired bootstrap" in note for note in notes)
    assert not any("no function of means" in note for note in compare(TABLES, ["mrr"]).notes)


def test_few_units_and_equal_models():
    few = {name: table.where(table.column("relation") < 5) for name, table in TABLES.items()}
    for pair in compare(few, ["median"], intervals="relation").pairs:
        assert (pair.p, pair.interval) == (None, None)
        assert pair.verdict == "not tested: only 5 relations; a test needs at least 20"
    (pair,) = compare({"one": TABLES["sums"], "two": TABLES["sums"]}, ["median"]).pairs
    assert (pair.difference, pair.p, pair.interval) == (0, 1, None)


def test_expected_medians_of_ties_are_undefined():
    for pair in compare(TABLES, ["expected.median"]).pairs:
        assert pair.difference is None
        assert "no closed form" in pair.verdict


def test_lists_that_are_no_means_are_not_tested():
    longest = Metric(
        "longest", "the longest list", "—", "—", lowest=1, highest=np.inf, increasing=True, needs="lists",
        compute=lambda lists, k: float(lists.lengths.max()),
    )  # fmt: skip
    for pair in compare(TABLES, [longest]).pairs:
        assert pair.verdict == "not tested: it is a function of lists, not of means over lists"
