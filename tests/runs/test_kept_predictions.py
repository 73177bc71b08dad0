"""Predictions that a run keeps beside its ranks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgeval import PredictionTable, RankTable, load_checkpoint, load_dataset, predict
from kgeval.base.errors import ConfigError, InputError
from kgeval.runs.config.load import load_config
from kgeval.runs.runner import run
from kgeval.stored.stored_run import StoredRun


def make(path, **options):
    return run(load_config(path), Path("run"), **options)


def test_a_run_keeps_them_in_a_file_of_their_own(config):
    make(config(evaluation={"keep": {"predictions": 4}, "sides": ["tail"], "filter": ["train"]}))
    graph = load_dataset("graph/")
    model = load_checkpoint("model.safetensors", dataset=graph)
    kept, expected = PredictionTable.from_parquet("run"), predict(model, graph, k=4, sides="tail", filter="train")
    assert kept.data.equals(expected.data)
    assert (kept.provenance, kept.notes) == (expected.provenance, expected.notes)
    assert "predictions.parquet" in json.loads(Path("run/manifest.json").read_text())["written"]
    Path("run/predictions.parquet").write_bytes(b"")
    assert [*StoredRun(Path("run")).faults] == ["predictions.parquet"]


def test_ranks_and_configuration_are_the_same_without_them(config):
    make(config(evaluation={"keep": {"predictions": 4}}))
    ranks, kept = RankTable.from_parquet("run"), Path("run/config.yaml").read_text()
    make(config(), force=True)
    assert RankTable.from_parquet("run").data.equals(ranks.data)
    assert not Path("run/predictions.parquet").exists()
    assert "keep" not in Path("run/config.yaml").read_text()
    assert kept.replace("  keep:\n    predictions: 4\n", "") == Path("run/config.yaml").read_text()


def test_a_run_that_kept_fewer_is_another(config):
    several = {"model": None, "models": {"one": "model.safetensors"}}
    make(config(**several, evaluation={"keep": {"predictions": 2}}))
    make(config(**several, evaluation={"keep": {"predictions": 2}}))
    with pytest.raises(InputError, match=r"evaluation\.keep\.predictions is 2 there, and 3 now"):
        make(config(**several, evaluation={"keep": {"predictions": 3}}))


@pytest.mark.parametrize(
    ("keep", "message"),
    [({"predictions": 0}, r"keep\.predictions"), ({"predicitons": 3}, "Did you mean 'predictions'"), (5, "keep")],
)
def test_bad_keys_are_refused(config, keep, message):
    with pytest.raises(ConfigError, match=message):
        load_config(config(evaluation={"keep": keep}))
