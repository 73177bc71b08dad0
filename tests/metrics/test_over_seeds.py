"""Intervals over seeds: against numpy and scipy, what is refused, and what does not matter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kgeval import CallableScorer, evaluate, summarize
from kgeval.base.errors import MetricError
from kgeval.metrics import Intervals, interval_over_seeds
from kgeval.metrics.selection import MetricOptions
from tests.conftest import random_dataset
from tests.metrics.example_ranks import shuffled

DATA = random_dataset(3, entities=40, relations=5, triples=400)


def run(seed, data=DATA, **options):
    def score(h, r, t):
        return (h * 13 + r * 3 + t * 11) % 37 + (h * seed + t) % 29

    return evaluate(CallableScorer(score, 40, 5), data, **options)


RUNS = [run(seed) for seed in (5, 7, 8, 12)]
FEW = Intervals(draws=150, seed=3)


def frame(table, value_of_ranks):
    """The contribution of each triple to a mean over both sides; float64[triple], by triple."""
    values = value_of_ranks(1 + table.column("greater") + table.column("tied") / 2)
    triples = np.unique(table.column("triple"), return_inverse=True)[1]
    return np.bincount(triples, values) / 2


def student(value, variance, degrees):
    return stats.t.interval(0.95, degrees, loc=value, scale=np.sqrt(variance))


def variance_and_degrees(of_seeds, of_units, runs, units):
    variance = of_seeds + of_units
    return variance, variance / (of_seeds / (runs - 1) + of_units / (units - 1))


@pytest.mark.parametrize(
    ("metric", "value_of"),
    [("mrr", lambda ranks: 1 / ranks), ("hits@3", lambda ranks: ranks <= 3), ("mr", lambda ranks: ranks)],
)
def test_intervals_of_means_are_those_of_a_table_of_runs_and_triples(metric, value_of):
    """By numpy alone: the scatter of the runs' means, and the covariances of the columns of runs."""
    found = interval_over_seeds(RUNS, metric)
    values = np.stack([frame(table, value_of) for table in RUNS])
    means, (runs, units) = values.mean(axis=1), values.shape
    assert found.runs == pytest.approx(means)
    assert (found.value, found.standard_deviation) == pytest.approx((means.mean(), means.std(ddof=1)))
    alone = stats.t.interval(0.95, runs - 1, loc=means.mean(), scale=stats.sem(means))
    assert (found.of_seeds.low, found.of_seeds.high) == pytest.approx(alone)
    assert (found.of_seeds.unit, found.of_seeds.units) == ("seed", runs)
    pairs = [np.cov(values[one], values[two])[0, 1] for one in range(runs) for two in range(runs) if one != two]
    variance, degrees = variance_and_degrees(means.var(ddof=1) / runs, np.mean(pairs) / units, runs, units)
    assert (found.interval.low, found.interval.high) == pytest.approx(student(means.mean(), variance, degrees))
    assert (found.interval.unit, found.interval.units, found.reason) == ("seed × triple", units, "")


@pytest.mark.parametrize("metric", ["amri", "median", "gmr"])
def test_other_metrics_have_the_covariances_of_a_bootstrap_that_draws_the_same_units(metric):
    """Drawn by numpy, with other random numbers: 2,000 draws tell a covariance to a few percent."""
    found, generator = interval_over_seeds(RUNS, metric), np.random.default_rng(5)
    triples = [np.unique(table.column("triple"), return_inverse=True)[1] for table in RUNS]
    units = triples[0].max() + 1
    drawn = np.empty((2000, len(RUNS)))
    for draw in drawn:
        times = np.bincount(generator.integers(0, units, units), minlength=units)
        for run, table in enumerate(RUNS):
            rows = np.repeat(np.arange(len(table)), times[triples[run]])
            ranks, candidates = (
                (1 + table.column("greater") + table.column("tied") / 2)[rows],
                table.column("candidates"),
            )
            draw[run] = VALUES[metric](ranks, candidates[rows])
    covariance = np.cov(drawn, rowvar=False)
    of_units = (covariance.sum() - covariance.trace()) / (len(RUNS) * (len(RUNS) - 1))
    variance = np.var(found.runs, ddof=1) / len(RUNS) + of_units
    assert found.interval.standard_error == pytest.approx(np.sqrt(variance), rel=0.06)


VALUES = {
    "amri": lambda ranks, candidates: 1 - np.mean(ranks - 1) / np.mean((candidates - 1) / 2),
    "median": lambda ranks, candidates: np.median(ranks),
    "gmr": lambda ranks, candidates: np.exp(np.log(ranks).mean()),
}


def test_runs_that_are_alike_leave_the_noise_of_triples():
    same = interval_over_seeds([RUNS[0]] * 3, "mrr")
    alone = summarize(RUNS[0], "mrr", intervals="triple").interval("mrr")
    assert same.interval.standard_error == pytest.approx(alone.standard_error, rel=1e-9)
    assert (same.of_seeds, same.standard_deviation, same.reason) == (None, 0, "all seeds have the same value")


@pytest.mark.parametrize("metric", ["head.mrr", "map", "relation.mrr", "expected.mrr", "random.median"])
def test_the_order_of_the_rows_does_not_matter(metric):
    options = {"intervals": Intervals(draws=100), "options": MetricOptions(seed=2)}
    one = interval_over_seeds(RUNS, metric, **options)
    other = interval_over_seeds([RUNS[0], *map(shuffled, RUNS[1:])], metric, **options)
    assert (other.interval.low, other.interval.high) == pytest.approx((one.interval.low, one.interval.high), rel=1e-12)


def test_queries_of_lists_and_relations_are_drawn():
    assert interval_over_seeds(RUNS, "map", intervals=FEW).interval.unit == "seed × query"
    few = interval_over_seeds(RUNS, "mrr", intervals="relation")
    assert (few.interval, few.reason) == (None, "only 5 relations; an interval needs at least 20")
    assert few.of_seeds == interval_over_seeds(RUNS, "mrr").of_seeds


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_than_three_seeds_are_said_and_not_computed(count):
    found = interval_over_seeds(RUNS[:count], "mrr")
    assert found.value == pytest.approx(np.mean([summarize(table, "mrr")["mrr"] for table in RUNS[:count]]))
    assert (found.interval, found.of_seeds, found.standard_deviation) == (None, None, None)
    assert found.reason.startswith(f"{count} seed{'s' * (count - 1)}: an interval or a test over seeds")
    assert found.reason.endswith("needs at least 3")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([], "several runs, found none"),
        ([RUNS[0], 3], "expected a rank table"),
        ([RUNS[0], RUNS[1].where(RUNS[1].column("side") == "head")], "runs 1 and 2 cannot be seeds of one model"),
        ([*RUNS[:2], RUNS[1].where(RUNS[1].column("triple") > 3)], "runs 1 and 3 cannot be seeds of one model"),
        ([RUNS[0], run(7, split="valid")], "split test in run 1, valid in run 2"),
        ([RUNS[0], run(7, filter=())], "filter"),
        ([RUNS[0], run(7, protocol="libkge")], "protocol standard in run 1, libkge in run 2"),
    ],
)
def test_tables_that_are_no_runs_of_one_model_are_refused(tables, message):
    with pytest.raises(MetricError, match=message):
        interval_over_seeds(tables, "mrr", intervals=FEW)


def test_unknown_undefined_and_counts_are_refused():
    with pytest.raises(MetricError, match="unknown metric 'mmr'"):
        interval_over_seeds(RUNS, "mmr")
    with pytest.raises(MetricError, match="unknown unit 'seed'"):
        interval_over_seeds(RUNS, "mrr", intervals="seed")
    with pytest.raises(MetricError, match="median is undefined"):
        interval_over_seeds([run(1, data=DATA), run(1, data=DATA)], "expected.median", intervals=FEW)
    assert interval_over_seeds(RUNS, "count", intervals=FEW).interval is None
