"""Tasks of a configuration: classification and confidences, alone and for several models."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from kgeval.base.errors import ConfigError, InputError
from kgeval.metrics.kinds import CLASSIFICATION
from kgeval.metrics.labels.label_summary import LabelSummary
from kgeval.metrics.metric import metrics
from kgeval.runs.config.load import load_config
from kgeval.runs.runner import run

CONFIGS = Path(__file__).resolve().parents[2] / "configs"

CLASSIFY = {"kind": "classification", "negatives": {"kind": "generated"}}


def test_several_models_meet_the_same_negatives(config, place):
    models = {"one": "model.safetensors", "two": "spare/other.safetensors"}
    content = load_config(config(model=None, models=models, task=CLASSIFY, metrics=["roc_auc"]))
    outcomes = run(content, place / "out")
    assert [outcome.name for outcome in outcomes] == ["one", "two"]
    tables = [outcome.table for outcome in outcomes]
    assert (tables[0].column("tail") == tables[1].column("tail")).all()
    one, two = (outcome.summary for outcome in outcomes)
    assert isinstance(one, LabelSummary)
    assert one["roc_auc"] != two["roc_auc"]
    assert one.of("tail frequency", "roc_auc") == two.of("tail frequency", "roc_auc")
    manifest = json.loads((place / "out" / "one" / "manifest.json").read_text())
    assert manifest["seeds"] == {"corruption": 0}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"task": {"kind": "clasification"}}, "Did you mean 'classification'"),
        ({"task": {**CLASSIFY, "calibratoin": "platt"}}, "Did you mean 'calibration'"),
        ({"task": {**CLASSIFY, "negatives": {"test": "nothing.txt"}}}, "no such file 'nothing.txt'"),
        ({"task": CLASSIFY, "metrics": ["mrr"]}, "mrr is computed from ranks, not from labels"),
        ({"task": {"kind": "confidences"}, "metrics": ["f1"]}, "f1 is computed from labels, not from confidences"),
        ({"task": {"kind": "confidences", "mapping": {"kind": "logistic", "bias": 1.0}}}, "give both weight and bias"),
        ({"task": {"kind": "confidences", "high_confidence": 2.0}, "metrics": ["rmse"]}, "1 problem\n  task.high_co"),
        ({"task": CLASSIFY, "ties": "random"}, "ties: a classification has no ranks, so no ties (config line"),
        ({"task": CLASSIFY, "seed": 0}, "seed: a classification has no ranks, so no ties (config line"),
        ({"task": {"kind": "confidences"}, "chance": "exact"}, "only metrics of ranks are compared with chance"),
        ({"task": {"kind": "confidences"}, "popularity": [1, 1]}, "only metrics of ranks are weighted by popularity"),
        ({"popularity": [1, 2, 3]}, "popularity: popularity: expected two exponents"),
        ({"chance": "without-answr"}, "Did you mean 'without-answer'"),
        ({"seed": 1.5}, "seed: expected a whole number"),
        ({"task": CLASSIFY, "evaluation": {"split": "valid"}}, "give either evaluation"),
    ],
)
def test_wrong_tasks_are_refused_before_anything_is_done(config, keys, message):
    with pytest.raises(ConfigError) as error:
        load_config(config(**keys))
    assert message in str(error.value)


def test_a_dataset_that_does_not_fit_is_refused_before_a_model_is_trained(config, place):
    training = {"kind": "pykeen", "model": "DistMult"}
    content = load_config(config(model=training, task={"kind": "confidences"}))
    with pytest.raises(InputError, match="has no confidences"):
        run(content, place / "out")
    assert not (place / "out" / "model").exists()


def test_a_task_and_its_dataset_are_told_apart_with_the_line(config, place):
    negatives = "task: {kind: classification, negatives: {valid: false.txt, test: false.txt}}"
    (place / "false.txt").write_text("e0\teats\te1\ne0\teats\te99\n")
    content = load_config(config(f"dataset: {{path: graph}}\nmodel: model.safetensors\n{negatives}\n"))
    with pytest.raises(ConfigError) as refusal:
        run(content, place / "out")
    assert "task: false.txt, line 2: the tail 'e99' is no entity of the dataset" in str(refusal.value)
    assert "(config line 3)" in str(refusal.value)


def test_the_metrics_of_the_task_are_spelled_out(config, place):
    run(load_config(config(task=CLASSIFY)), place / "out")
    written = yaml.safe_load((place / "out" / "config.yaml").read_text())
    assert tuple(written["metrics"]) == CLASSIFICATION.metrics
    assert "evaluation" not in written


def names_of(*needs):
    """Every metric, with a cut-off where its name takes one."""
    return [metric.spellings()[-1 if metric.cutoff == "required" else 0].replace("{k}", "2")
            for metric in metrics(*needs).values()]  # fmt: skip


@pytest.mark.parametrize(
    ("task", "needs"),
    [
        ({}, ("ranks", "lists")),
        ({"task": CLASSIFY}, ("labels",)),
        ({"task": {"kind": "confidences"}, "dataset": {"path": "weighted"}}, ("confidences",)),
    ],
    ids=["ranks", "classification", "confidences"],
)
def test_every_metric_can_be_asked_for_by_name(config, place, task, needs):
    shutil.copytree(place / "graph", place / "weighted")
    for path in (place / "weighted").iterdir():
        rows = path.read_text().splitlines()
        path.write_text("".join(f"{row}\t{0.1 + number % 9 / 10}\n" for number, row in enumerate(rows)))
    asked = names_of(*needs)
    (outcome,) = run(load_config(config(metrics=asked, **task)), place / "out")
    told = json.loads((place / "out" / "metrics.json").read_text())["metrics"]
    found = told["both" if needs[0] == "ranks" else "model"]
    own = {metric.name for metric in metrics(*needs).values()}
    assert len(found) == len(asked) >= len(own)
    assert {name.partition("@")[0] for name in found} == own
    undefined = {name for name, value in found.items() if value is None}
    assert undefined <= {"log_loss"}, outcome.notes


def test_a_run_of_another_kind_leaves_nothing_of_the_one_it_replaces(config, place):
    for keys, left in (({}, "ranks.parquet"), ({"task": CLASSIFY}, "labels.parquet"), ({}, "ranks.parquet")):
        run(load_config(config(**keys)), place / "out", force=True)
        tables = {path.name for path in (place / "out").iterdir()} & {"ranks.parquet", "labels.parquet"}
        assert tables == {left}
    assert not (place / "out" / "curves.json").exists()
    (place / "out" / "ranks-same-or-reversed.parquet").write_text("of a run of confidences")
    run(load_config(config()), place / "out", force=True)
    assert not (place / "out" / "ranks-same-or-reversed.parquet").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "folder", "baseline", "values"),
    [
        ("classification", "codex-s", "relation majority", {"accuracy": 0.781, "f1": 0.773}),
        ("confidences", "ppi5k", "same or reversed", {"mse": 0.0082, "mae": 0.0322}),
    ],
)
def test_the_example_runs_as_it_stands_beside_its_data(shared, tmp_path, monkeypatch, name, folder, baseline, values):
    """With one epoch of small vectors; what the baselines reach does not depend on that."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(shared / "data" / folder, tmp_path / "data" / folder)
    shorter = ["model.training_kwargs.num_epochs=1", "model.model_kwargs.embedding_dim=8"]
    content = load_config(CONFIGS / f"{name}.yaml", shorter)
    (outcome,) = run(content, tmp_path / "out")
    for metric, expected in values.items():
        digits = len(str(expected).split(".")[1])
        assert round(outcome.summary.of(baseline, metric), digits) == expected
    assert (tmp_path / "out" / "labels.parquet").is_file()
