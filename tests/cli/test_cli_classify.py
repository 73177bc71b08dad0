"""``kgeval classify``: truth values and confidences, files and draws, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import kgeval
from kgeval import summarize
from kgeval.ranking.tasks.classification import classify
from kgeval.ranking.tasks.labelled_split import NegativesFromFiles
from tests.cli.conftest import SPLITS, invoke, write_config, write_model, write_weighted

ARGUMENTS = ("classify", "model", "--dataset", "graph", "--option", "model=TransE", "--option", "norm=1")
CONFIDENCES = ("evaluate", "model", "--dataset", "weighted", *ARGUMENTS[4:], "--task", "confidences")
LOGISTIC = ("--set", "task.mapping.kind=logistic", "--set", "task.high_confidence=0.5")
NEGATIVES = ("--valid-negatives", "valid_negatives.txt", "--test-negatives", "test_negatives.txt")


@pytest.fixture
def place(place):
    """The folder, with negatives, and the same graph with confidences in ``weighted``."""
    (place / "valid_negatives.txt").write_text("ant\teats\tdog\nbee\tfears\tcat\ncat\tlikes\tdog\n")
    (place / "test_negatives.txt").write_text("ant\teats\teel\nbee\tfears\teel\ncat\tlikes\teel\n")
    write_weighted(place / "weighted")
    return place


def test_it_says_what_python_says(place, data):
    dataset = kgeval.load_dataset("graph")
    scorer = kgeval.load_checkpoint("model", dataset=dataset, model="TransE", norm=1)
    negatives = NegativesFromFiles(valid="valid_negatives.txt", test="test_negatives.txt")
    expected = summarize(classify(scorer, dataset, negatives=negatives)).to_dict()
    assert data(*ARGUMENTS, *NEGATIVES) == json.loads(json.dumps(expected))


def test_a_run_directory_holds_the_labels_and_runs_again(place, done, data):
    done(*ARGUMENTS, *NEGATIVES, "--out", "out")
    assert {path.name for path in (place / "out").iterdir()} == {
        "config.yaml",
        "curves.json",
        "labels.parquet",
        "manifest.json",
        "metrics.json",
    }
    manifest = json.loads((place / "out" / "manifest.json").read_text())
    assert {"valid_negatives.txt", "test_negatives.txt"} <= set(manifest["sha256"])
    metrics = json.loads((place / "out" / "metrics.json").read_text())
    assert data("run", "out/config.yaml", "--out", "again") == metrics
    assert data("inspect", "out")["metrics"] == metrics["metrics"]


def test_an_interrupted_run_is_described_by_its_labels(place, done, data):
    done(*ARGUMENTS, *NEGATIVES, "--out", "out")
    (place / "out" / "manifest.json").unlink()
    described = data("inspect", "out")
    assert described["complete"] is False
    assert described["labelled triples"] == len(SPLITS["valid"]) + len(SPLITS["test"]) + 6
    assert described["baselines"] == ["relation majority", "tail frequency"]


def test_metrics_come_from_the_stored_labels(data):
    written = data(*ARGUMENTS, *NEGATIVES, "--out", "out")
    assert data("summarize", "out") == written
    by = data("summarize", "out", "-m", "roc_auc", "--by", "relation", "--calibration", "none")
    assert {group["key"]["relation"] for group in by["groups"]} <= {"eats", "fears", "likes"}
    assert (written["calibration"], by["calibration"]) == ("platt", "none")


def test_drawn_negatives_depend_on_the_seed_alone(done, place):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        done(*ARGUMENTS, "--corruption", f"uniform:count=2,seed={seed}", "--out", name)
    tails = [kgeval.tasks.LabelTable.from_parquet(f"{name}/labels.parquet").column("tail") for name in "abc"]
    assert np.array_equal(tails[0], tails[1])
    assert not np.array_equal(tails[0], tails[2])


def test_the_calibration_of_the_run_is_the_usual_one(data):
    told = data(*ARGUMENTS, *NEGATIVES, "--calibration", "isotonic", "-m", "relation.f1", "-m", "brier", "--out", "out")
    assert data("summarize", "out") == told


def test_random_ties_of_confidences_have_a_seed(place, data):
    """A fact has one rank, whatever else is looked at; models of one score tie everywhere."""
    write_model(place / "flat", entity=np.zeros((8, 4)), relation=np.zeros((3, 4)))
    config = {
        "dataset": "./weighted", "model": {"path": "flat", "options": {"model": "DistMult"}},
        "task": {"kind": "confidences"}, "metrics": ["wmr"], "ties": "random", "seed": 5,
    }  # fmt: skip
    write_config(place / "flat.yaml", config)
    told = data("run", "flat.yaml", "--out", "out")
    assert data("summarize", "out") == told
    assert data("summarize", "out", "--seed", "6") != told
    ranks = kgeval.RankTable.from_parquet("out/ranks.parquet")
    labels = kgeval.tasks.LabelTable.from_parquet("out/labels.parquet").to_pandas().query("split == 'test'")
    said = {tuple(row[:3]): row[3] for row in labels[["head", "relation", "tail", "label"]].to_numpy()}
    weights = [said[row] for row in zip(*(ranks.column(name) for name in ("head", "relation", "tail")), strict=True)]
    groups = kgeval.summarize(ranks, ["mr"], by=("triple", "side"), ties="random", seed=5).groups
    one = {tuple(group.key.values()): next(iter(group.values.values())) for group in groups}
    mine = [one[key] for key in zip(ranks.column("triple"), ranks.column("side"), strict=True)]
    assert told["metrics"]["model"]["wmr"] == pytest.approx(np.average(mine, weights=weights), rel=1e-12)


def test_a_weighted_dataset_has_its_confidences_predicted(place, data, done):
    content = data(*CONFIDENCES, *LOGISTIC, "--set", "task.negatives.test=test_negatives.txt")
    assert content["kind"] == "confidences"
    assert set(content["metrics"]) == {"model", "same or reversed"}
    assert content["mapping"]["kind"] == "logistic"
    assert {group["key"]["facts"] for group in content["groups"]} == {"confidence ≥ 0.5", "with negatives"}
    assert data("inspect", "weighted")["confidences"] == {split: len(rows) for split, rows in SPLITS.items()}
    done(*CONFIDENCES, "--out", "out")
    assert data("summarize", "out", "-m", "mrr")["metrics"]["both"]["mrr"] > 0


def test_metrics_of_confidences_come_from_the_stored_run(data):
    told = data(*CONFIDENCES, *LOGISTIC, "--out", "out")
    assert data("summarize", "out") == told
    assert told["metrics"]["same or reversed"]["wmr"] >= 1
    other = data("summarize", "out", "-m", "rmse", "-m", "graded-ndcg@5", "--mapping", "raw", "--high-confidence", "1")
    assert other["mapping"] == {"kind": "raw"}
    assert set(other["metrics"]["model"]) == {"rmse", "graded-ndcg@5"}
    assert other["metrics"]["model"]["rmse"] != told["metrics"]["model"]["rmse"]
    assert data("summarize", "out", "-m", "strat.mrr", "--popularity", "0", "1")["popularity"] == [0, 1]


@pytest.mark.parametrize("written", ["", "task: 3", "[", "task: {kind: confidences, high_confidence: 7}"])
def test_a_damaged_configuration_of_a_stored_run_is_refused(done, refused, place, written):
    done(*CONFIDENCES, "--out", "out")
    (place / "out" / "config.yaml").write_text(written)
    assert ("high" if "high" in written else "not the configuration") in refused("summarize", "out")


def test_the_sides_of_confidences_are_an_option(place, data):
    data(*CONFIDENCES, "--sides", "tail", "--out", "out")
    assert set(kgeval.RankTable.from_parquet("out/ranks.parquet").column("side")) == {"tail"}


def test_a_bound_on_a_mean_over_relations_holds_or_fails(place, done, data):
    """The mean over relations of the share of triples on the right side of their relation's threshold."""
    written = data(*ARGUMENTS, *NEGATIVES, "--out", "runs/model")
    labels = pd.read_parquet(place / "runs" / "model" / "labels.parquet").query("split == 'test'")
    relations, thresholds = labels["relation_label"].astype(str), written["thresholds"]
    limits = relations.map(thresholds["by_relation"]).fillna(thresholds["global"])
    is_right = (labels["score"] >= limits) == labels["is_positive"]
    mean = float(is_right.groupby(relations).mean().mean())
    for run in ("runs/model", "runs"):
        for name in ("relation.accuracy", "model.relation.accuracy"):
            done("summarize", run, "--fail-under", f"{name}={mean - 1e-9}")
            missed = invoke("summarize", run, "--fail-under", f"{name}=1.5")
            assert missed.exit_code == 1
            assert f"relation.accuracy is {mean!r}, below 1.5." in missed.stderr
    with_unknown = invoke("summarize", "runs", "--fail-under", "relation.akkuracy=.5")
    assert "Did you mean" in with_unknown.stderr
