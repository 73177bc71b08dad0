"""Comparisons on many graphs: rows, means over groups of graphs and ranks over graphs, in every form."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kgeval import compare, evaluate
from kgeval.analysis import rank_models
from kgeval.metrics.intervals.over_graphs import mean_over_graphs
from kgeval.metrics.names import parse
from tests.conftest import random_dataset, unwrapped

GRAPHS = {name: replace(random_dataset(seed, triples=200 + 20 * seed), name=name) for seed, name in enumerate("abcdef")}
STEPS = {"m29": 29, "m31": 31, "m37": 37}
SUITE = {"first": ["a", "b", "x"], "rest": ["d", "e", "f"]}


@pytest.fixture(scope="module")
def results():
    def model(step):
        return lambda h, r, t: (h * step + t * 7 + r) % 11

    tables = {name: {key: evaluate(model(step), data) for key, step in STEPS.items()} for name, data in GRAPHS.items()}
    del tables["c"]["m29"]
    return tables


@pytest.fixture(scope="module")
def suite(results):
    return compare(results, ["mrr", "mr"], suite=SUITE)


def mean_of(table, function):
    ranks = 1 + table.column("greater") + table.column("tied") / 2
    return function(ranks)


FUNCTIONS = {"mrr": lambda ranks: (1 / ranks).mean(), "mr": np.mean}


def expected_means(results, metric):
    """By numpy alone: each group's mean over the graphs that all models have, and Student's interval."""
    groups = {**SUITE, "all": [*"abcdefx"]}
    for group, planned in groups.items():
        graphs = [name for name in planned if len(results.get(name, ())) == len(STEPS)]
        for model in STEPS:
            values = [mean_of(results[name][model], FUNCTIONS[metric]) for name in graphs]
            ends = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
            yield group, graphs, model, np.mean(values), ends if len(values) > 2 else None


@pytest.mark.parametrize("metric", ["mrr", "mr"])
def test_means_count_each_graph_once_and_all_models_have_the_same_graphs(suite, results, metric):
    records = json.loads(json.dumps(suite.to_dict()))["means"]
    records = {(one["dataset"], one["model"]): one for one in records if one["metric"] == metric}
    assert len(records) == 3 * 3
    for group, graphs, model, mean, ends in expected_means(results, metric):
        record = records[group, model]
        assert record["graphs"] == graphs
        assert record["value"] == pytest.approx(mean)
        if ends is None:
            assert "interval" not in record
            assert "needs at least 3" in record["reason"]
        else:
            low = max(ends[0], 0 if metric == "mrr" else 1)
            assert (record["interval"]["low"], record["interval"]["high"]) == pytest.approx((low, ends[1]))


def test_graphs_are_rows_and_models_columns_in_every_form(suite, results):
    labels = ["mean of first (2 of 3 graphs)", "mean of rest (3 graphs)", "mean of all (5 of 7 graphs)"]
    (mrr, mr, ranks), csv_rows = suite.tables(), [*csv.DictReader(io.StringIO(suite.to_csv()))]
    assert [table.title for table in (mrr, mr)] == ["mrr:", "mr:"]
    assert mrr.columns == ["graph", *STEPS]
    assert [row[0] for row in mrr.rows] == [*"abcdef", *labels]
    means = {(group, model): mean for group, _, model, mean, _ in expected_means(results, "mrr")}
    for row, graph in zip(mrr.rows, "abcdef", strict=False):
        for model, figure in zip(STEPS, row[1:], strict=True):
            table = results[graph].get(model)
            assert figure.value == (None if table is None else pytest.approx(mean_of(table, FUNCTIONS["mrr"])))
    of_csv = {(row["metric"], row["graph"]): row for row in csv_rows}
    assert len(of_csv) == 2 * 9
    assert of_csv["mrr", "c"]["m29"] == ""
    for (group, label), (place, model) in zip(
        [(group, label) for group, label in zip([*SUITE, "all"], labels, strict=True) for _ in STEPS],
        [(place, model) for place in range(6, 9) for model in enumerate(STEPS, 1)],
        strict=True,
    ):
        column, name = model
        assert mrr.rows[place][column].value == pytest.approx(means[group, name])
        assert float(of_csv["mrr", label][name]) == pytest.approx(means[group, name])
    best = max(STEPS, key=lambda model: means["all", model])
    assert f"**{means['all', best]:.3f}" in suite.to_markdown()
    assert rf"\bfseries {means['all', best]:.3f}" in suite.to_latex()
    assert "Bold: the best in the row." in suite.to_markdown()
    assert ranks.title == "ranks over 5 graphs by mrr:"


def test_what_is_left_out_is_named(suite):
    said = unwrapped(suite)
    assert "means leave out the graphs on which a model has no value: x (no run), c (m29)." in said
    assert "means count each graph once ± the 95 % interval over graphs" in said
    assert "as if they were a random sample); they are not tested." in said
    assert "Note: the model has no labels; its ids were taken as those of the dataset." in said  # one for all graphs


def test_ranks_over_graphs_are_those_of_rank_models(suite, results):
    complete = {
        name: {model: mean_of(table, FUNCTIONS["mrr"]) for model, table in models.items()}
        for name, models in results.items()
        if len(models) == len(STEPS)
    }
    expected = rank_models(complete)
    rows = {
        row[0]: [cell.value if isinstance(cell, tuple) else cell for cell in row[1:4]] for row in suite.tables()[2].rows
    }
    assert rows == {
        model: pytest.approx([expected.average_ranks[at], expected.z_scores[at], expected.borda[at]])
        for at, model in enumerate(expected.models)
    }
    assert all(note in suite.notes for note in expected.notes)


@given(
    values=st.integers(1, 5).flatmap(
        lambda models: st.lists(
            st.lists(st.sampled_from([0.1, 0.2, 0.5, 0.9]), min_size=models + 2, max_size=models + 2),
            min_size=2,
            max_size=6,
        )
    ),
    increasing=st.booleans(),
)
@settings(max_examples=30)
def test_z_scores_and_borda_counts_by_their_definitions(values, increasing):
    results = {f"d{at}": {f"m{place}": value for place, value in enumerate(row)} for at, row in enumerate(values)}
    ranks, sign = rank_models(results, increasing=increasing), 1 if increasing else -1
    for place in range(len(values[0])):
        scores = [sign * (row[place] - np.mean(row)) / np.std(row) if len({*row}) > 1 else 0 for row in values]
        beaten = [sum(sign * row[place] > sign * other for other in row) for row in values]
        equal = [row.count(row[place]) - 1 for row in values]
        assert ranks.z_scores[place] == pytest.approx(np.mean(scores))
        assert ranks.borda[place] == sum(beaten) + sum(equal) / 2


def test_groups_of_rows_have_means_of_their_own(results):
    by_side = compare(results, "mrr", by="side")
    (table,) = by_side.tables()
    assert table.columns == ["side", "graph", *STEPS]
    for side in ("head", "tail"):
        values = [
            mean_of(models["m31"].where(models["m31"].column("side") == side), FUNCTIONS["mrr"])
            for models in results.values()
            if len(models) == len(STEPS)
        ]
        (row,) = [row for row in table.rows if row[:2] == [side, "mean of all (5 of 6 graphs)"]]
        assert row[3].value == pytest.approx(np.mean(values))


def test_few_datasets_stand_beside_each_other_unless_a_suite_is_named(results):
    few = {name: results[name] for name in "abd"}
    assert compare(few, "mrr").tables()[0].columns[0] == "model"
    assert compare(few, "mrr", suite={"pair": ["a", "b"]}).tables()[0].columns[0] == "graph"
    assert compare({"a": few["a"]}, "mrr", suite=SUITE).tables()[0].columns[0] == "model"


def test_an_interval_over_graphs_needs_three_that_differ():
    mrr = parse("mrr")
    assert mean_over_graphs(mrr, []).value is None
    assert "1 graph: an interval" in mean_over_graphs(mrr, [0.5]).reason
    assert mean_over_graphs(mrr, [0.5, 0.5, 0.5]).interval is None
    interval = mean_over_graphs(mrr, [0.1, 0.2, 0.6], level=0.9).interval
    ends = stats.t.interval(0.9, 2, 0.3, stats.sem([0.1, 0.2, 0.6]))
    assert (interval.low, interval.high) == pytest.approx((max(ends[0], 0), ends[1]))
