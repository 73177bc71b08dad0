"""Intervals from the command line and in configurations, and how many digits tables have."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kgeval import RankTable, summarize
from kgeval.metrics import Intervals
from tests.cli.conftest import invoke, write_config, write_vectors
from tests.conftest import random_dataset
from tests.data.folders import write

CONFIG = {"dataset": "./large", "model": {"path": "wide", "options": {"model": "TransE", "norm": 1}}}


@pytest.fixture
def large(place):
    """A graph with 44 test triples, a model, and a run with intervals."""
    graph, rng = random_dataset(2, triples=300), np.random.default_rng(0)
    entities, relations = graph.entities, graph.relations
    rows = {
        split: [(entities[h], relations[r], entities[t]) for h, r, t in triples.ids]
        for split, triples in graph.splits.items()
    }
    write(place / "large", rows)
    arrays = {"entity": rng.normal(size=(30, 4)), "relation": rng.normal(size=(4, 4))}
    write_vectors(place / "wide", entities, relations, **arrays)
    write_config(place / "plain.yaml", CONFIG)
    write_config(
        place / "large.yaml", {**CONFIG, "intervals": {"unit": "query", "level": 0.9}, "metrics": ["mrr", "mr"]}
    )
    assert invoke("run", "large.yaml", "--out", "done").exit_code == 0
    assert invoke("run", "plain.yaml", "--out", "bare").exit_code == 0
    return place


def test_the_key_gives_intervals_in_metrics_json_and_again_from_the_stored_run(large, data):
    content = json.loads((large / "done/metrics.json").read_text())
    for metric, method in (("mr", "random halves"), ("mrr", "bounded mean")):  # of few queries, some large
        interval = content["intervals"]["both"][metric]
        assert (interval["unit"], interval["level"], interval["method"]) == ("query", 0.9, method)
        assert interval["low"] < content["metrics"]["both"][metric] < interval["high"]
    assert data("summarize", "done") == content
    assert data("run", "done/config.yaml", "--out", "again") == content


def test_options_give_intervals_of_a_stored_run(large, data):
    table = RankTable.from_parquet(large / "bare/ranks.parquet")
    assert "intervals" not in data("summarize", "bare")
    assert data("summarize", "bare", "--intervals", "triple") == summarize(table, intervals="triple").to_dict()
    assert data("summarize", "bare", "--level", "0.5") == summarize(table, intervals=Intervals(level=0.5)).to_dict()
    level = data("summarize", "done", "--level", "0.5")["intervals"]["both"]["mrr"]
    assert (level["unit"], level["level"]) == ("query", 0.5)
    groups = data("summarize", "bare", "--intervals", "triple", "--by", "side")["groups"]
    assert [set(group["intervals"]) for group in groups] == [{"head"}, {"tail"}]


def test_groups_beside_the_whole_have_intervals_too(large, data, done):
    write_config(large / "by.yaml", {**CONFIG, "by": "side", "metrics": ["mrr", "mr"], "intervals": {"unit": "triple"}})
    content = data("run", "by.yaml", "--out", "by")
    assert content["intervals"]["both"]["mrr"]["units"] == content["num_triples"]
    found = [group["intervals"][group["key"]["side"]]["mrr"] for group in content["groups"]]
    assert [interval["units"] for interval in found] == [content["num_triples"]] * 2
    assert found[0] == content["intervals"]["head"]["mrr"]
    assert done("summarize", "by").count("±") >= 5


def test_evaluate_takes_the_same_options(large, data):
    arguments = ("evaluate", "wide", "--dataset", "./large", "--option", "model=TransE", "--option", "norm=1")
    found = data(*arguments, "-m", "mrr", "-m", "mr", "--intervals", "query", "--level", "0.9")
    assert found["intervals"] == data("summarize", "done")["intervals"]


def test_digits_can_be_set(large, done, data):
    value = data("summarize", "bare")["metrics"]["both"]["mrr"]
    assert f"{value:.6f}" in done("summarize", "bare")
    assert f" {value:.2f} " in done("summarize", "bare", "--digits", "2")
    assert f"{value:.4f} (" in done("summarize", "done", "--digits", "4")
    assert f"{value:.2f}" in done("run", "plain.yaml", "--out", "bare", "--digits", "2", "--force")
    assert data("summarize", "bare", "--digits", "2")["metrics"]["both"]["mrr"] == value


def test_several_models_have_intervals_side_by_side(large, done):
    models = {"one": CONFIG["model"], "two": CONFIG["model"]}
    write_config(large / "two.yaml", {"dataset": "./large", "models": models, "intervals": {"level": 0.95}})
    printed = done("run", "two.yaml", "--out", "two")
    assert printed.count("95 % intervals (resampling triples)") == 1
    assert printed.count("±") >= 4


def test_too_few_relations_have_no_interval_but_a_note(large):
    result = invoke("summarize", "bare", "--intervals", "relation", "-m", "mrr")
    assert result.exit_code == 0
    assert "no intervals: only 4 relations; an interval needs at least 20." in result.stderr.replace("\n", " ")
    assert "±" not in result.stdout
