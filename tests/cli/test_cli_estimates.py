"""Estimates from the command line: --estimate, what a run keeps of it, and how a tighter one goes on."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

from kgeval import RankTable
from tests.cli.conftest import invoke, write_vectors
from tests.data.folders import write

LEAST = ("--set", "evaluation.estimate.first=100")
OPTIONS = ("--dataset", "wide", "--option", "model=DistMult", *LEAST)


@pytest.fixture
def wide(place):
    """A graph with 500 test triples, and a model of it."""
    rng = np.random.default_rng(0)
    ids = np.unique(rng.integers(0, [60, 5, 60], (1100, 3)), axis=0)
    rng.shuffle(ids)
    triples = [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in ids]
    write(place / "wide", {"train": triples[500:], "test": triples[:500]})
    (place / "model").rename(place / "old")
    labels = ([f"e{index}" for index in range(60)], [f"r{index}" for index in range(5)])
    arrays = {"entity": rng.normal(size=(60, 4)), "relation": rng.normal(size=(5, 4))}
    write_vectors(place / "model", *labels, **arrays)
    return place


def test_the_table_and_metrics_json_say_that_they_estimate(wide):
    outcome = invoke("evaluate", "model", *OPTIONS, "--estimate", "0.025", "--out", "est")
    assert "of 500 triples (95 %), stratified by relation" in outcome.stdout
    assert " (0.0" in next(line for line in outcome.stdout.splitlines() if line.startswith("mrr"))
    content = json.loads((wide / "est/metrics.json").read_text())
    table = RankTable.from_parquet(wide / "est/ranks.parquet")
    assert content["estimated"] is True
    known = {"of": 500, "method": "stratified by relation", "error": 0.025, "metric": "mrr", "level": 0.95, "seed": 0}
    assert content["estimate"] == {"n": table.num_triples, **known}
    interval = content["intervals"]["both"]["mrr"]
    assert interval["high"] - interval["low"] <= 0.05
    assert yaml.safe_load((wide / "est/config.yaml").read_text())["evaluation"]["estimate"]["error"] == 0.025
    again = invoke("summarize", "est", "--metric", "mrr,median").stdout
    assert f"estimated from {table.num_triples} of 500 triples" in again
    assert "undefined" in next(line for line in again.splitlines() if line.startswith("median"))


def test_a_tighter_error_goes_on_and_a_wider_one_is_refused(wide):
    invoke("evaluate", "model", *OPTIONS, "--estimate", "0.025", "--out", "est")
    before = RankTable.from_parquet(wide / "est/ranks.parquet")
    assert invoke("evaluate", "model", *OPTIONS, "--estimate", "0.02", "--out", "est").exit_code == 0
    assert invoke("evaluate", "model", *OPTIONS, "--estimate", "0.02", "--out", "fresh").exit_code == 0
    gone_on, fresh = (RankTable.from_parquet(wide / run / "ranks.parquet") for run in ("est", "fresh"))
    assert set(before.column("triple")) < set(gone_on.column("triple"))
    assert gone_on.to_pandas().equals(fresh.to_pandas())
    assert (wide / "est/metrics.json").read_text() == (wide / "fresh/metrics.json").read_text()
    wider = invoke("evaluate", "model", *OPTIONS, "--estimate", "0.03", "--out", "est")
    assert "evaluation.estimate.error is 0.02 there, and 0.03 now" in wider.stderr
    other = invoke("evaluate", "model", *OPTIONS, "--estimate", "0.01", "--filter", "none", "--out", "est")
    assert "evaluation.filter is" in other.stderr
    assert (wider.exit_code, other.exit_code) == (2, 2)
    old = "evaluate old --dataset graph --option model=TransE --option norm=1 --estimate 0.01 --out est"
    changed = invoke(*old.split())
    assert "already holds a different run" in changed.stderr
    assert invoke("evaluate", "model", *OPTIONS, "--estimate", "0.03", "--out", "est", "--force").exit_code == 0
    assert RankTable.from_parquet(wide / "est/ranks.parquet").num_triples < gone_on.num_triples


def test_several_models_are_estimated_side_by_side_and_go_on(wide):
    config = {
        "dataset": "./wide",
        "models": {"one": {"path": "model", "options": {"model": "DistMult"}}, "two": {"baseline": "popularity"}},
        "evaluation": {"estimate": {"triples": 150, "first": 100}},
        "metrics": ["mrr"],
    }
    (wide / "several.yaml").write_text(yaml.safe_dump(config))
    outcome = invoke("run", "several.yaml", "--out", "both")
    assert outcome.stdout.count("estimated from 150 of 500 triples") == 1
    config["evaluation"]["estimate"]["triples"] = 200
    (wide / "several.yaml").write_text(yaml.safe_dump(config))
    assert "estimated from 200 of 500 triples" in invoke("run", "several.yaml", "--out", "both").stdout
    assert "one" in invoke("compare", "both", "--metric", "mrr").stdout
    assert "Taken from" in invoke("run", "several.yaml", "--out", "both").stderr


def test_the_level_is_that_of_the_estimate(wide):
    stated = json.loads(invoke("evaluate", "model", *OPTIONS, "--estimate", "0.03", "--level", "0.8", "--json").stdout)
    assert stated["estimate"]["level"] == stated["intervals"]["both"]["mrr"]["level"] == 0.8
