"""Intervals over seeds: against drawing by hand, what is refused, and what does not matter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kgeval import CallableScorer, evaluate, summarize
from kgeval.errors import MetricError
from kgeval.metrics import Intervals, interval_over_seeds
from kgeval.metrics.intervals.selection_intervals import times_drawn
from kgeval.metrics.selection import MetricOptions
from tests.conftest import random_dataset
from tests.metrics.example_ranks import shuffled

DATA = random_dataset(3, entities=40, relations=5, triples=400)


def run(seed, data=DATA, **options):
    return evaluate(CallableScorer(lambda h, r, t: (h * seed + r * 3 + t * 11) % 37, 40, 5), data, **options)


RUNS = [run(seed) for seed in (5, 7, 8, 12)]
FEW = Intervals(draws=150, seed=3)


def by_hand(tables, value_of):
    """Rows repeated as often as their run times as often as their triple was drawn."""
    triples = np.unique(tables[0].column("triple"))
    values = []
    for draw in range(FEW.draws):
        runs = times_drawn(len(tables), seed=FEW.seed, draw=draw, stream=1)
        units = times_drawn(len(triples), seed=FEW.seed, draw=draw)
        each = []
        for table in tables:
            times = units[np.searchsorted(triples, table.column("triple"))]
            each.append(value_of(np.repeat(1 + table.column("greater") + table.column("tied") / 2, times)))
        values.append(np.average(each, weights=runs))
    return np.array(values)


@pytest.mark.parametrize(
    ("metric", "value_of"),
    [
        ("mrr", lambda ranks: np.mean(1 / ranks)),
        ("hits@3", lambda ranks: np.mean(ranks <= 3)),
        ("hmr", lambda ranks: 1 / np.mean(1 / ranks)),
        ("median", np.median),
        ("gmr", lambda ranks: np.exp(np.log(ranks).mean())),
    ],
)
def test_the_pigeonhole_bootstrap_against_drawing_by_hand(metric, value_of):
    found = interval_over_seeds(RUNS, metric, intervals=FEW)
    assert found.values == tuple(summarize(table, metric)[metric] for table in RUNS)
    assert found.value == np.mean(found.values)
    of_seeds = np.var(found.values, ddof=1) / 4
    variance = by_hand(RUNS, value_of).var(ddof=1) + of_seeds / 4
    of_units = max(variance - of_seeds, 0)
    count = RUNS[0].num_triples
    degrees = (of_seeds + of_units) ** 2 / (of_seeds**2 / 3 + of_units**2 / (count - 1))
    low, high = stats.t.interval(0.95, degrees, loc=found.value, scale=np.sqrt(variance))
    assert found.interval.standard_error == pytest.approx(np.sqrt(variance), rel=1e-9)
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), rel=1e-6)
    assert (found.interval.units, found.interval.unit) == (count, "seed × triple")


def test_runs_that_are_alike_leave_the_noise_of_triples():
    same = interval_over_seeds([RUNS[0]] * 3, "mrr", intervals=Intervals(draws=2000)).interval
    alone = summarize(RUNS[0], "mrr", intervals="triple").interval("mrr")
    assert same.standard_error == pytest.approx(alone.standard_error, rel=0.06)


@pytest.mark.parametrize("metric", ["head.mrr", "map", "relation.mrr", "expected.mrr", "random.median"])
def test_the_order_of_the_rows_does_not_matter(metric):
    options = {"intervals": Intervals(draws=100), "options": MetricOptions(seed=2)}
    one = interval_over_seeds(RUNS, metric, **options)
    other = interval_over_seeds([RUNS[0], *map(shuffled, RUNS[1:])], metric, **options)
    assert (other.interval.low, other.interval.high) == pytest.approx((one.interval.low, one.interval.high), rel=1e-12)


def test_queries_of_lists_and_relations_are_drawn():
    assert interval_over_seeds(RUNS, "map", intervals=FEW).interval.unit == "seed × query"
    with pytest.raises(MetricError, match=r"both\.mrr has no interval: 5 relations, and an interval needs 20"):
        interval_over_seeds(RUNS, "mrr", intervals="relation")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([], "several runs, found 0"),
        (RUNS[:1], "several runs, found 1"),
        ([RUNS[0], 3], "expected a rank table"),
        ([RUNS[0], RUNS[1].where(RUNS[1].column("side") == "head")], "run 2 does not rank the rows of run 1"),
        ([*RUNS[:2], RUNS[1].where(RUNS[1].column("triple") > 3)], "run 3 does not rank the rows of run 1"),
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
    with pytest.raises(MetricError, match="no interval"):
        interval_over_seeds(RUNS, "count", intervals=FEW)
