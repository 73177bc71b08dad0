"""Result trackers of PyKEEN: what a run was and found arrives there; wrong ones are refused before any work."""

from __future__ import annotations

import csv
import json
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from pykeen.trackers import ResultTracker, tracker_resolver

from kgeval.base.errors import ConfigError, RunError
from kgeval.cli import main
from kgeval.runs.config.load import load_config
from kgeval.runs.runner import run
from kgeval.runs.trackers import TrackerConfig

NATIVE = {"entity": 14, "relation": 55}


@pytest.fixture
def checkpoint(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "model.npz", **{name: rng.normal(size=(size, 4)) for name, size in NATIVE.items()})
    return tmp_path / "model.npz"


@pytest.fixture
def config(tmp_path, checkpoint):
    """Write and load a configuration with a tracker; other models may be named instead of the one."""

    def load(tracker, **keys):
        models = keys or {"model": one(checkpoint)}
        content = {"dataset": "nations", **models, "metrics": ["mrr", "hits@3", "macro.mrr"], "tracker": tracker}
        path = tmp_path / "config.yaml"
        path.write_text(json.dumps(content))
        return load_config(path)

    return load


def one(checkpoint):
    return {"path": str(checkpoint), "options": {"model": "DistMult", "ids": "dataset"}}


class Recorder(ResultTracker):
    """A tracker that keeps what it is told; it can be told to fail."""

    def __init__(self, fails=""):
        self.fails = fails
        self.calls = []
        made.append(self)
        self._told("construct")

    def start_run(self, run_name=None):
        self._told("start_run", run_name)

    def log_params(self, params, prefix=None):
        self._told("log_params", params, prefix)

    def log_metrics(self, metrics, step=None, prefix=None):
        self._told("log_metrics", metrics, step, prefix)

    def end_run(self, success=True):
        self._told("end_run", success)

    def _told(self, call, *what):
        self.calls.append((call, *what))
        if call == self.fails:
            raise ConnectionError("the server is gone.")


made: list[Recorder] = []


@pytest.fixture
def recorder(monkeypatch):
    made.clear()
    monkeypatch.setitem(tracker_resolver.lookup_dict, "recorder", Recorder)
    return made


def test_a_tracker_is_told_the_configuration_the_metrics_and_the_folder(tmp_path, config, recorder):
    [outcome] = run(config({"kind": "recorder"}), tmp_path / "run")
    [tracker] = recorder
    names = [call[0] for call in tracker.calls]
    assert names == ["construct", "start_run", "log_params", "log_metrics", "end_run"]
    started, (_, params, _), (_, metrics, _, prefix), ended = tracker.calls[1:]
    assert (started, ended, prefix) == (("start_run", "nations"), ("end_run", True), "test")
    assert params["dataset"]["name"] == "nations"
    assert params["run_directory"] == str(tmp_path / "run")
    assert "tracker" not in params
    parts = {"both": "", "head": "head.", "tail": "tail."}
    expected = {
        f"{part}.{name.replace('@', '_at_')}": outcome.summary[before + name]
        for part, before in parts.items()
        for name in ("mrr", "hits@3", "macro.mrr")
    }
    assert metrics == expected


def test_each_of_several_models_is_a_tracked_run(tmp_path, config, checkpoint, recorder):
    outcomes = run(
        config({"kind": "recorder"}, models={name: one(checkpoint) for name in ("first", "second")}), tmp_path / "run"
    )
    assert [tracker.calls[1] for tracker in recorder] == [("start_run", "first"), ("start_run", "second")]
    folders = [tracker.calls[2][1]["run_directory"] for tracker in recorder]
    assert folders == [str(outcome.folder) for outcome in outcomes]


@pytest.mark.parametrize("call", ["construct", "start_run"])
def test_a_tracker_that_cannot_start_stops_the_run_before_it_begins(tmp_path, config, recorder, call):
    with pytest.raises(ConfigError, match="the tracker 'recorder' could not be started: the server is gone"):
        run(config({"kind": "recorder", "fails": call}), tmp_path / "run")
    assert not (tmp_path / "run" / "ranks.parquet").exists()


@pytest.mark.parametrize("call", ["log_params", "log_metrics", "end_run"])
def test_a_tracker_that_fails_loses_no_result(tmp_path, config, recorder, call):
    with pytest.raises(RunError, match=r"the tracker failed: the server is gone\. The run itself is complete"):
        run(config({"kind": "recorder", "fails": call}), tmp_path / "run")
    assert (tmp_path / "run" / "manifest.json").is_file()


def test_a_run_that_fails_ends_as_a_failure_and_tells_its_own_reason(tmp_path, config, recorder, monkeypatch):
    def fail(*_, **__):
        raise RunError("no space left.")

    monkeypatch.setattr("kgeval.stored.stored_run.publish", fail)
    with pytest.raises(RunError, match="no space left"):
        run(config({"kind": "recorder", "fails": "end_run"}), tmp_path / "run")
    assert recorder[0].calls[-1] == ("end_run", False)


def test_a_missing_library_is_one_message_before_anything_is_trained(tmp_path, config, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)  # as if it were not installed
    monkeypatch.setattr("kgeval.runs.jobs.train", lambda *_: pytest.fail("something was trained"))
    config({"kind": "mlflow"}, model={"kind": "pykeen", "model": "DistMult"}, dataset="nations")
    shown = CliRunner().invoke(main, ["run", str(tmp_path / "config.yaml"), "--out", str(tmp_path / "run")])
    told = "Error: tracker.kind: mlflow needs the library mlflow, which is not installed. Run: pip install mlflow\n"
    assert (shown.exit_code, shown.output) == (2, told)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("tracker", "names"),
    [
        ({"kind": "tensorboard"}, {"experiment_name"}),
        ({"kind": "tensorboard", "experiment_name": "v1.5"}, {"experiment_name"}),
        ({"kind": "tensorboard", "experiment_path": "logs/v1.5"}, {"experiment_path"}),
        ({"kind": "csv", "name": "all"}, {"name"}),
        ({"kind": "json", "path": "logs/all.jsonl"}, {"path"}),
    ],
)
def test_every_model_has_a_file_or_folder_of_its_own(tracker, names):
    told = [TrackerConfig(**tracker).options(model) for model in ("first", "second")]
    for name in names:
        first, second = (options[name] for options in told)
        assert "first" in first
        assert "second" in second
        assert first.replace("first", "") != second.replace("second", "") or len(tracker) > 1  # by the time


def test_csv_and_json_hold_configuration_metrics_and_folder(tmp_path, config):
    file = tmp_path / "results.csv"
    [outcome] = run(config({"kind": "csv", "path": str(file)}), tmp_path / "run")
    run(config({"kind": "json", "path": str(tmp_path / "results.jsonl")}), tmp_path / "again")
    assert str(outcome.summary["mrr"]) in (tmp_path / "results.jsonl").read_text()
    rows = {row["key"]: row for row in csv.DictReader(file.open())}
    assert rows["run_directory"]["value"] == str(tmp_path / "run")
    assert rows["dataset.name"]["value"] == "nations"
    assert (rows["test.both.mrr"]["type"], float(rows["test.both.mrr"]["value"])) == ("metric", outcome.summary["mrr"])
    assert float(rows["test.head.hits_at_3"]["value"]) == outcome.summary["head.hits@3"]


def test_mlflow_holds_them_too(tmp_path, config, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    place = (tmp_path / "mlruns").as_uri()
    [outcome] = run(config({"kind": "mlflow", "tracking_uri": place, "experiment_name": "x"}), tmp_path / "run")
    client = mlflow.MlflowClient(place)
    [found] = client.search_runs([client.get_experiment_by_name("x").experiment_id])
    assert found.info.status == "FINISHED"
    assert found.data.params["run_directory"] == str(tmp_path / "run")
    assert found.data.params["dataset.name"] == "nations"
    assert found.data.metrics["test.both.mrr"] == outcome.summary["mrr"]
    assert found.data.metrics["test.tail.hits_at_3"] == outcome.summary["tail.hits@3"]


def test_tensorboard_holds_them_too(tmp_path, config):
    reader = "tensorboard.backend.event_processing.event_accumulator"
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    events = pytest.importorskip(reader).EventAccumulator(str(tmp_path / "events"))
    run_it = config({"kind": "tensorboard", "experiment_path": str(tmp_path / "events")})
    [outcome] = run(run_it, tmp_path / "run")
    events.Reload()
    [point] = events.Scalars("test.both.hits_at_3")
    assert point.value == pytest.approx(outcome.summary["hits@3"])
    [text] = events.Tensors("run_directory/text_summary")
    assert text.tensor_proto.string_val[0].decode() == str(tmp_path / "run")


def test_wandb_holds_them_too(tmp_path, config, monkeypatch):
    pytest.importorskip("wandb", reason="wandb is not installed")
    for name, value in {"WANDB_SILENT": "true", "WANDB_MODE": "offline"}.items():
        monkeypatch.setenv(name, value)
    place = {"project": "x", "offline": True, "dir": str(tmp_path)}
    [outcome] = run(config({"kind": "wandb", **place}), tmp_path / "run")
    [stored] = tmp_path.glob("wandb/offline-run-*/*.wandb")
    told = stored.read_bytes()
    for text in ("test.both.hits_at_3", str(outcome.summary["hits@3"]), "run_directory", str(tmp_path / "run")):
        assert text.encode() in told


@pytest.mark.parametrize(
    "tracker",
    [
        {"kind": "csv", "path": "${SECRET}/told.csv"},
        {"kind": "json", "path": "told.jsonl"},
        {"kind": "tensorboard", "experiment_path": "${SECRET}/events"},
    ],
)
def test_a_path_that_cannot_be_written_is_refused_before_anything_is_read(tmp_path, monkeypatch, config, tracker):
    monkeypatch.chdir(tmp_path)
    if tracker["kind"] == "tensorboard":
        pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    monkeypatch.setenv("SECRET", "hunter2")
    for name in ("hunter2", "broken.npz"):
        (tmp_path / name).touch()
    (tmp_path / "told-first.jsonl").mkdir()
    settings = config(tracker, models={name: one("broken.npz") for name in ("first", "second")})
    with pytest.raises(ConfigError, match=r"^tracker\..*path: '.*' cannot be written\. Name another place\."):
        run(settings, tmp_path / "run")
    shown = CliRunner().invoke(main, ["run", "config.yaml", "--out", "run"])
    assert (shown.exit_code, "cannot be written" in shown.output) == (2, True)
    assert "hunter2" not in shown.output
    assert not (tmp_path / "run").exists()


def test_unknown_trackers_are_refused_with_the_nearest(config):
    with pytest.raises(
        ConfigError, match=r"tracker.kind: PyKEEN has no tracker called 'mflow'.* Did you mean 'mlflow'"
    ):
        config({"kind": "mflow"})


def test_an_option_that_a_tracker_does_not_have_is_refused(tmp_path, config):
    with pytest.raises(ConfigError, match="the tracker 'csv' could not be started"):
        run(config({"kind": "csv", "path": str(tmp_path / "x.csv"), "colour": "red"}), tmp_path / "run")
