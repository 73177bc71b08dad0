"""Seed differences: against numpy and scipy, the order of rows, what is refused, and what is not tested."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import kgeval
from kgeval.analysis.comparison.adjustment import holm
from kgeval.analysis.comparison.paired_difference import DifferenceOptions, notes_on_tests
from kgeval.analysis.comparison.seed_differences import seeds_needed
from kgeval.base.errors import MetricError
from kgeval.metrics import interval_over_seeds
from kgeval.metrics.intervals.over_seeds import error_of_means
from tests.analysis.over_seeds import seed_differences
from tests.conftest import random_dataset
from tests.metrics.example_ranks import changed, shuffled

DATA = random_dataset(3, entities=40, relations=25, triples=900)


def run(seed, skill=13, data=DATA, **options):
    """Ranks that runs of one model share in part, and models too."""
    scorer = kgeval.CallableScorer(lambda h, r, t: (h * skill + r * 3 + t * 11) % 37 + (h * seed + t) % 29, 40, 25)
    return kgeval.evaluate(scorer, data, **options)


RUNS = {
    "a": [run(seed) for seed in (5, 7, 8)],
    "b": [run(seed, 14) for seed in (5, 9, 12, 15)],
    "floor": [kgeval.evaluate(kgeval.CallableScorer(lambda h, r, t: h * 0 + t % 5, 40, 25), DATA)],
}
BY_SEED = {model: RUNS[model] for model in ("a", "b")}


def by_triple(table, value_of):
    values = value_of(1 + table.column("greater") + table.column("tied") / 2)
    return np.bincount(np.unique(table.column("triple"), return_inverse=True)[1], values) / 2


def brute_force(model, other, value_of):
    """Difference, standard error, degrees of freedom and p-value of a mean over triples, one number at a time."""
    one, two = ([by_triple(table, value_of) for table in RUNS[name]] for name in (model, other))
    units = len(one[0])

    def covariance(first, second):
        return np.cov(first, second)[0, 1] / units

    def within(runs):
        pairs = [(i, j) for i in range(len(runs)) for j in range(len(runs)) if i != j or len(runs) == 1]
        return np.mean([covariance(runs[i], runs[j]) for i, j in pairs])

    between = np.mean([covariance(first, second) for first in one for second in two])
    of_units = max(within(one) + within(two) - 2 * between, 0)
    parts = [(np.var([run.mean() for run in runs], ddof=1) / len(runs), len(runs)) for runs in (one, two) if runs[1:]]
    of_seeds = sum(part for part, _ in parts)
    welch = of_seeds**2 / sum(part**2 / (count + 1) for part, count in parts) - 2
    variance = of_seeds + of_units
    degrees = variance / (of_seeds / welch + of_units / (units - 1))
    difference = np.mean([run.mean() for run in one]) - np.mean([run.mean() for run in two])
    return difference, np.sqrt(variance), degrees, 2 * stats.t.sf(abs(difference) / np.sqrt(variance), degrees)


@pytest.mark.parametrize(
    ("metric", "value_of"), [("mrr", lambda ranks: 1 / ranks), ("hits@3", lambda ranks: ranks <= 3), ("mr", np.array)]
)
def test_differences_are_those_of_brute_force(metric, value_of):
    found = seed_differences(RUNS, [metric], baselines=["floor"])
    assert [(pair.model, pair.other) for pair in found] == [("a", "b"), ("a", "floor"), ("b", "floor")]
    expected = np.array([brute_force(pair.model, pair.other, value_of) for pair in found])
    for pair, (difference, error, degrees, p) in zip(found, expected, strict=True):
        low, high = stats.t.interval(0.95, degrees, loc=difference, scale=error)
        assert (pair.difference, pair.p) == pytest.approx((difference, p))
        assert (pair.interval.low, pair.interval.high) == pytest.approx((low, high))
        assert (pair.interval.standard_error, pair.interval.unit) == (pytest.approx(error), "seed × triple")
        assert (pair.units, pair.rows, pair.family) == (DATA_TRIPLES, 2 * DATA_TRIPLES, 3)
        # The test sees the detectable difference with a probability of .8: that of a noncentral t.
        limit = stats.t.ppf(0.975, degrees)
        assert stats.nct.sf(limit, degrees, pair.detectable / error) == pytest.approx(0.8, abs=1e-6)
    assert [pair.adjusted_p for pair in found] == pytest.approx(holm(expected[:, 3]))


DATA_TRIPLES = RUNS["a"][0].num_triples


@pytest.mark.parametrize(("metric", "constant", "rel"), [("mrr", 0.2, 1e-9), ("median", 5, 0.03)])
def test_a_baseline_with_one_rank_everywhere_leaves_the_interval_of_the_model(metric, constant, rel):
    """The difference has the scatter of the model alone; a bootstrap numbers triples by labels, and not by ids."""
    nothing = changed(RUNS["a"][0], greater=np.full(2 * DATA_TRIPLES, 4), tied=np.zeros(2 * DATA_TRIPLES, np.int64))
    (pair,) = seed_differences({"a": RUNS["a"], "nothing": [nothing]}, [metric], baselines=["nothing"])
    alone = interval_over_seeds(RUNS["a"], metric).interval
    assert (pair.interval.low, pair.interval.high) == pytest.approx(
        (alone.low - constant, alone.high - constant), rel=rel
    )


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        *(("amri", "triple"), ("map", "triple")),
        *((metric, unit) for metric in ("head.mrr", "macro.mrr", "map") for unit in ("query", "relation")),
    ],
)
def test_neither_the_order_of_rows_nor_ids_nor_of_runs_matters(metric, unit):
    options = DifferenceOptions(unit=unit)
    (expected,) = seed_differences(BY_SEED, [metric], options=options)
    tops = {"head": 39, "tail": 39, "relation": 24}
    other = [changed(table, **{name: top - table.column(name) for name, top in tops.items()}) for table in RUNS["b"]]
    (found,) = seed_differences({"a": [*map(shuffled, RUNS["a"])][::-1], "b": other}, [metric], options=options)
    kind = "query" if (metric, unit) == ("map", "triple") else unit
    assert found.resampled == expected.resampled == f"seed × {kind}"
    assert (found.difference, found.p) == pytest.approx((expected.difference, expected.p), rel=1e-9)
    assert found.interval.standard_error == pytest.approx(expected.interval.standard_error, rel=1e-9)


def test_the_other_way_round_only_the_sign_changes():
    (forth,), (back,) = (
        seed_differences(dict(models), ["mrr"]) for models in (BY_SEED.items(), [*BY_SEED.items()][::-1])
    )
    assert (back.difference, back.p) == pytest.approx((-forth.difference, forth.p))


def test_a_family_is_the_pairs_by_one_metric():
    """No further metric changes a p-value; a reference leaves the pairs with it."""
    alone = seed_differences(RUNS, "mrr", baselines=["floor"])
    both = seed_differences(RUNS, ["mrr", "mr", "count"], baselines=["floor"])
    assert both[::2] == alone
    assert [pair.name for pair in both] == ["mrr", "mr"] * 3
    found = seed_differences(RUNS, ["mrr"], options=DifferenceOptions(reference="b"), baselines=["floor"])
    assert [(pair.model, pair.other, pair.family) for pair in found] == [("a", "b", 2), ("floor", "b", 2)]


def test_a_p_value_of_students_t_is_no_bound_and_the_notes_say_what_it_is():
    better = [changed(table, greater=np.maximum(table.column("greater") - 3, 0)) for table in RUNS["a"]]
    (pair,) = seed_differences({"better": better, "a": RUNS["a"]}, ["mrr"])
    assert (pair.seen, pair.draws, pair.is_bound) == ("better", 0, False)
    assert pair.to_dict()["unit"] == "seed × triple"
    notes = " ".join(notes_on_tests([pair], DifferenceOptions()))
    assert "difference: the mean over seeds of model minus the mean over seeds of other, ± its 95 % interval" in notes
    assert f"(resampling seeds and {DATA_TRIPLES} triples)." in notes
    assert "p: two-sided Student's t test over seeds × triple; not adjusted (one pair of models)." in notes
    assert "draws are too few" not in notes
    assert "no function of means" not in notes


def test_what_is_not_tested_says_why():
    runs = {**RUNS, "two": RUNS["a"][:2], "single": RUNS["a"][:1], "other floor": RUNS["floor"]}
    found = seed_differences(runs, ["mrr", "expected.median"], baselines=["floor", "other floor"])
    reasons = {(pair.model, pair.other): pair.reason for pair in found if pair.name == "mrr"}
    few = "an interval or a test over seeds needs at least 3"
    assert reasons["a", "b"] == reasons["a", "floor"] == ""
    assert reasons["a", "two"] == f"two has 2 seeds: {few}"
    assert reasons["a", "single"] == f"single has 1 seed: {few}"
    assert reasons["floor", "other floor"] == "neither model has several seeds"
    assert {pair.family for pair in found if pair.p is not None} == {5}
    for pair in found:
        if pair.reason:
            assert (pair.p, pair.interval, pair.detectable, pair.seen) == (None, None, None, "")
            assert pair.verdict == f"not tested: {pair.reason}"
    assert all(pair.reason.startswith("it is undefined for") for pair in found if pair.name == "expected.median")
    (same,) = seed_differences({"a": RUNS["a"], "again": RUNS["a"]}, ["mrr"])
    assert same.difference == 0
    assert same.p == 1


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        ({}, {}, "nothing to compare"),
        ({"a": RUNS["a"], "b": []}, {}, "b has no run"),
        ({"a": RUNS["a"], "b": [3]}, {}, "expected a rank table"),
        (BY_SEED, {"reference": "c"}, "reference: no model is called 'c'"),
        ({"a": RUNS["a"], "b": [run(5, filter=())]}, {}, "filter: .* in b"),
        (
            {"a": RUNS["a"], "b": [run(5).where(run(5).column("triple") > 9)]},
            {},
            "rank different triples or sides",
        ),
    ],
)
def test_bad_input_is_refused(runs, options, message):
    with pytest.raises(MetricError, match=message):
        seed_differences(runs, ["mrr"], options=DifferenceOptions(**options))


def test_the_rows_that_all_runs_have_are_compared_where_that_is_allowed():
    part = {model: [table.where(table.column("triple") > 9) for table in tables] for model, tables in BY_SEED.items()}
    mixed = {"a": RUNS["a"], "b": part["b"]}
    assert seed_differences(mixed, ["mrr"], allow="triples") == seed_differences(part, ["mrr"])


def test_the_number_of_seeds_that_would_show_a_difference():
    """The power of Student's t test at this number, by SciPy, is .8 at least; with one seed less it is not."""
    (pair,) = seed_differences(BY_SEED, "hits@3")
    values = [[kgeval.summarize(table, "hits@3")["hits@3"] for table in RUNS[name]] for name in BY_SEED]
    variances = np.array([np.var(of, ddof=1) for of in values])
    of_units = max(pair.interval.standard_error**2 - sum(variances / (3, 4)), 0)

    def power(seeds, difference):
        error, degrees = error_of_means(variances, np.array([seeds, seeds]), of_units, pair.units)
        limit = stats.t.ppf(0.975, degrees)
        return 1 - stats.nct.cdf(limit, degrees, abs(difference) / error)

    for difference in (0.03, 0.06, 0.1, 0.3):
        seeds = seeds_needed(difference, variances, of_units, pair.units, 0.95)
        if np.isinf(seeds):
            assert power(10**6, difference) < 0.8
        else:
            assert power(seeds, difference) >= 0.8 - 1e-6
            assert seeds == 3 or power(seeds - 1, difference) < 0.8
    assert pair.seeds_needed == seeds_needed(pair.difference, variances, of_units, pair.units, 0.95)
    assert seeds_needed(0.0, variances, of_units, pair.units, 0.95) is None
