"""The average over times (snapshots), and times as units: numpy brute force, published ranks, simulation, refusals."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import kgeval
from kgeval import Baseline, Dataset, compare, evaluate, summarize
from kgeval.analysis.comparison.sign_flips import signed_sums
from kgeval.base.errors import MetricError
from kgeval.data.provenance import UNKNOWN, Provenance
from kgeval.metrics.intervals.over_seeds import interval_over_seeds
from kgeval.metrics.names import parse
from kgeval.metrics.selection import RowSelection, TableView
from scripts.simulation.made import CANDIDATES, Made, intervals_of, ranked


def temporal(seed, times=30, facts=400):
    """A graph whose facts lie unevenly in time."""
    rng = np.random.default_rng(seed)
    when = np.minimum(rng.geometric(4 / (times + 3), facts), times)
    ids = np.c_[rng.integers(0, 12, facts), rng.integers(0, 3, facts), rng.integers(0, 12, facts), when]
    rows = [(f"e{h}", f"r{r}", f"e{t}", f"t{time:02d}") for h, r, t, time in np.unique(ids, axis=0).tolist()]
    return Dataset.from_labels(train=[("e0", "r0", "e1", "t00")], test=rows)


def scored(data, factor):
    return evaluate(lambda h, r, t, time: (h * 31 + r * 7 + t * factor + time * 5) % 11, data)


def frame_of(table):
    frame = table.to_pandas()
    anchor = frame["head"].where(frame["side"] == "tail", frame["tail"])
    query = [*zip(frame["side"], anchor, frame["relation"], frame["time"], strict=True)]
    return frame.assign(value=1 / frame["rank"], hit=frame["rank"] <= 3, query=query, time=frame["time"].astype(str))


def mean_of_means(values, keys):
    values, keys = np.asarray(values, float), np.asarray(keys)
    return np.mean([values[keys == key].mean() for key in np.unique(keys)])


@given(seed=st.integers(0, 9999), times=st.integers(1, 12), facts=st.integers(1, 60))
def test_a_mean_over_times_is_the_mean_of_each_times_mean(seed, times, facts):
    table = scored(temporal(seed, times, facts), 13)
    frame = frame_of(table)
    summary = summarize(table, ["time.mrr", "time.hits@3", "time.map"])
    assert summary["time.mrr"] == pytest.approx(mean_of_means(frame["value"], frame["time"]), rel=1e-12)
    for side in ("head", "tail"):
        rows = frame[frame["side"] == side]
        expected = mean_of_means(rows["hit"], rows["time"])
        assert summary[f"{side}.time.hits@3"] == pytest.approx(expected, rel=1e-12, abs=1e-15)
    by_list = summarize(table, "map", by="time").groups
    means = [next(iter(group.values.values())) for group in by_list]
    assert summary["time.map"] == pytest.approx(np.mean(means), rel=1e-12)
    for group in summarize(table, "time.mrr", by="relation").groups:
        rows = frame[frame["relation_label"] == group.key["relation"]]
        assert next(iter(group.values.values())) == pytest.approx(mean_of_means(rows["value"], rows["time"]), rel=1e-12)


def test_an_interval_over_times_is_that_of_the_snapshots_means():
    """Each snapshot counts once, so that the standard error is s / √T of the T means."""
    table = scored(temporal(3, times=60, facts=3000), 13)
    means = frame_of(table).groupby("time")["value"].mean()
    interval = summarize(table, "time.mrr", intervals="time").interval("time.mrr")
    assert (interval.unit, interval.units, interval.method) == ("time", len(means), "linearised")
    expected = stats.t.interval(0.95, len(means) - 1, means.mean(), means.sem())
    assert (interval.low, interval.high) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("metric", ["time.mrr", "mrr", "time.map"])
def test_differences_over_times_swap_whole_snapshots(metric):
    data = temporal(4, times=60, facts=2000)
    tables = {"a": scored(data, 13), "b": scored(data, 17)}
    (pair,) = compare(tables, metric, intervals="time", draws=500, seed=6).pairs
    values = []
    for table in tables.values():
        of_times = summarize(table, [metric.removeprefix("time."), "count"], by="time").groups
        by_time = {group.key["time"]: [*group.values.values()][::3] for group in of_times}
        values.append(np.array([by_time[time] for time in sorted(by_time)]))
    (own, counts), (other, _) = (columns.T for columns in values)
    shares = counts / counts.sum() if metric == "mrr" else np.full(len(counts), 1 / len(counts))
    of_units = shares * (own - other)
    assert pair.units == len(counts)
    assert pair.difference == pytest.approx(of_units.sum(), abs=1e-12)
    sums = signed_sums(np.eye(len(counts)), draws=500, seed=6) @ of_units
    assert pair.p == (1 + (abs(sums) >= abs(pair.difference) - 1e-12).sum()) / 501
    assert (pair.interval.low <= 0 <= pair.interval.high) == (pair.p > 0.05)


class Snapshots(Made):
    """Made ranks whose relations are times too."""

    provenance = Provenance(UNKNOWN, UNKNOWN, "test", 0, UNKNOWN, None, UNKNOWN, times="time-aware")

    def __init__(self, triples, times, ranks):
        super().__init__(triples, times, ranks, CANDIDATES, {"time": pa.array(np.repeat(times, 2))})


@pytest.mark.parametrize("unit", ["time", "triple"])
def test_intervals_hold_the_mean_over_snapshots(unit):
    """600 draws of 40 snapshots of 5 to 60 facts, which have something in common; or of facts of the same snapshots."""
    rng, draws, times = np.random.default_rng(8), 600, 40
    sizes = rng.integers(5, 61, times if unit == "triple" else draws * times)
    effects = 0.8 * rng.normal(size=len(sizes))
    if unit == "triple":
        sizes, effects = np.tile(sizes, draws), np.tile(effects, draws)
        many = np.repeat(np.arange(times), 4000)
        of_all = Snapshots(np.arange(len(many)), many, ranked(rng, effects[many] + rng.normal(size=len(many))))
    else:
        many = np.arange(200_000)
        of_all = Snapshots(many, many, ranked(rng, 0.8 * rng.normal(size=len(many)) + rng.normal(size=len(many))))
    name = parse("time.mrr")
    true = name(RowSelection(TableView(of_all), slice(None)).ranks(None, "time"))
    snapshots = np.repeat(np.arange(len(sizes)), sizes)
    ranks = ranked(rng, effects[snapshots] + rng.normal(size=len(snapshots)))
    table = Snapshots(np.arange(len(snapshots)), snapshots % times, ranks)
    groups = np.repeat(snapshots // times, 2)
    _, _, held = intervals_of(name, RowSelection(TableView(table), np.arange(len(groups)), groups), true, unit, "time")
    # Facts alone: also with the scatter of the snapshots, which are the same in all draws. It is rather wide.
    assert 0.93 < held < (0.97 if unit == "time" else 1)


def test_recurrency_on_icews14_has_the_means_over_snapshots_that_plain_numpy_has(shared, tmp_path):
    expected = json.loads((shared / "cases/recurrency/icews14/expected.json").read_text())["results"]["time-aware"]
    for split in ("train", "valid", "test"):
        cells = (shared / "data/renet-icews14" / f"{split}.txt").read_text().splitlines()
        rows = [["head", "relation", "tail", "time"], *(line.split()[:4] for line in cells)]
        (tmp_path / f"{split}.txt").write_text("".join("\t".join(row) + "\n" for row in rows))
    table = evaluate(Baseline("recurrency"), kgeval.load_dataset(tmp_path))
    for ties in ("realistic", "pessimistic"):
        summary = summarize(table, ["mrr", "time.mrr"], ties=ties)
        assert summary["mrr"] == pytest.approx(expected[ties]["mrr"], abs=1e-12)
        assert summary["time.mrr"] == pytest.approx(expected[ties]["mean_over_snapshots_of_mrr"], abs=1e-12)


@pytest.mark.parametrize("call", [
    lambda table: summarize(table, "time.mrr"),
    lambda table: summarize(table, "map", intervals="time"),
    lambda table: compare({"a": table, "b": table}, "mrr", intervals="time"),
    lambda table: interval_over_seeds([table] * 3, "mrr", intervals="time"),
])  # fmt: skip
def test_ranks_without_times_have_none(call):
    table = evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")
    with pytest.raises(MetricError, match="need a temporal graph, and these triples have no times"):
        call(table)
