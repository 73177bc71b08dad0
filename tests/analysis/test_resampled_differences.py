"""Resampled differences: medians and geometric means by brute force, and metrics of means computed both ways."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from kgeval import Metric, compare
from kgeval.metrics.ranks.classic import MRR
from tests.analysis.test_paired_differences import TABLES

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
    assert any("no function of means: median. Intervals are those of a paired bootstrap" in note for note in notes)
    assert not any("no function of means" in note for note in compare(TABLES, ["mrr"]).notes)


def test_few_units_and_equal_models():
    few = {name: table.where(table.column("relation") < 5) for name, table in TABLES.items()}
    for pair in compare(few, ["median"], unit="relation").pairs:
        assert (pair.p, pair.interval) == (None, None)
        assert pair.verdict == "not tested: 5 relations, and a test needs 20"
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
        assert pair.verdict == "not tested: it is a function of lists, and not of means over them"
