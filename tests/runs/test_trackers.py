"""Result trackers of PyKEEN: what a run was and found arrives there; wrong ones are refused before any work."""

from __future__ import annotations

import csv
import json

import pytest

from kgeval.errors import ConfigError, RunError
from kgeval.runs.load import load_config
from kgeval.runs.runner import run

NATIVE = {"entity": 14, "relation": 55}


@pytest.fixture
def checkpoint(tmp_path):
    import numpy as np

    rng = np.random.default_rng(0)
    np.savez(tmp_path / "model.npz", **{name: rng.normal(size=(size, 4)) for name, size in NATIVE.items()})
    return tmp_path / "model.npz"


def write(tmp_path, checkpoint, tracker):
    content = {
        "dataset": "nations",
        "model": {"path": str(checkpoint), "options": {"model": "DistMult"}},
        "metrics": ["mrr", "hits@3"],
        "tracker": tracker,
    }
    path = tmp_path / "config.yaml"
    path.write_text(json.dumps(content))
    return path


def test_csv_holds_configuration_metrics_and_folder(tmp_path, checkpoint):
    file = tmp_path / "results.csv"
    config = load_config(write(tmp_path, checkpoint, {"kind": "csv", "path": str(file)}))
    [outcome] = run(config, tmp_path / "run")
    rows = {row["key"]: row for row in csv.DictReader(file.open())}
    assert rows["run_directory"]["value"] == str(tmp_path / "run")
    assert rows["dataset.name"]["value"] == "nations"
    assert (rows["test.both.mrr"]["type"], float(rows["test.both.mrr"]["value"])) == ("metric", outcome.summary["mrr"])
    assert float(rows["test.head.hits@3"]["value"]) == outcome.summary["head.hits@3"]


def test_json_holds_them_too(tmp_path, checkpoint):
    file = tmp_path / "results.jsonl"
    config = load_config(write(tmp_path, checkpoint, {"kind": "json", "path": str(file)}))
    [outcome] = run(config, tmp_path / "run")
    assert str(outcome.summary["mrr"]) in file.read_text()


def test_unknown_trackers_are_refused_with_the_nearest(tmp_path, checkpoint):
    with pytest.raises(
        ConfigError, match=r"tracker.kind: PyKEEN has no tracker called 'mflow'.* Did you mean 'mlflow'"
    ):
        load_config(write(tmp_path, checkpoint, {"kind": "mflow"}))


def test_a_tracker_that_cannot_start_stops_the_run_before_it_begins(tmp_path, checkpoint):
    config = load_config(write(tmp_path, checkpoint, {"kind": "csv", "path": str(tmp_path / "x.csv"), "colour": "red"}))
    with pytest.raises(ConfigError, match="the tracker 'csv' could not be started"):
        run(config, tmp_path / "run")
    assert not (tmp_path / "run" / "ranks.parquet").exists()


def test_a_tracker_that_fails_loses_no_result(tmp_path, checkpoint, monkeypatch):
    from pykeen.trackers import CSVResultTracker

    def fail(*_, **__):
        raise ConnectionError("the server is gone.")

    monkeypatch.setattr(CSVResultTracker, "log_metrics", fail)
    config = load_config(write(tmp_path, checkpoint, {"kind": "csv", "path": str(tmp_path / "x.csv")}))
    with pytest.raises(RunError, match="the server is gone"):
        run(config, tmp_path / "run")
    assert (tmp_path / "run" / "manifest.json").is_file()
