"""Runs of a model that answers tails alone: nobody has to say so, and what reads the run takes the same side."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from kgeval import PredictionTable, RankTable, load_dataset, summarize
from kgeval.base.errors import InputError
from kgeval.cli import main
from kgeval.runs.config.load import load_config
from kgeval.runs.runner import run
from kgeval.runs.stored import read_stored_model


@pytest.fixture
def encoder(place):
    graph, rng = load_dataset("graph/"), np.random.default_rng(0)
    (place / "encoder").mkdir()
    np.save("encoder/entity.npy", rng.normal(size=(9, 4)))
    queries = rng.normal(size=(9, 2, 4))
    np.save("encoder/query.npy", queries[graph.test.heads, graph.test.relations])
    Path("encoder/entities.txt").write_text("".join(f"{label}\n" for label in graph.entities))
    return {"path": "encoder", "options": {"similarity": "cosine"}}


def test_the_sides_are_the_models_to_say(config, encoder):
    path = config(model=encoder, evaluation={"keep": {"predictions": 2}})
    run(load_config(path), Path("run"))
    assert set(RankTable.from_parquet("run").column("side")) == {"tail"}
    assert set(PredictionTable.from_parquet("run").column("side")) == {"tail"}
    assert "sides" not in yaml.safe_load(Path("run/config.yaml").read_text())["evaluation"]
    assert "the model predicts tails only." in json.loads(Path("run/manifest.json").read_text())["notes"]
    stored, model, _ = read_stored_model(Path("run"))
    assert stored.evaluation.for_model(model).sides == ("tail",)


def test_models_of_one_configuration_may_answer_other_sides(config, encoder):
    run(load_config(config(model=None, models={"encoder": encoder, "other": "model.safetensors"})), Path("run"))
    assert set(RankTable.from_parquet("run/encoder").column("side")) == {"tail"}
    assert set(RankTable.from_parquet("run/other").column("side")) == {"head", "tail"}


def test_models_of_other_sides_stand_in_one_table_with_their_sides(config, encoder):
    path = config(model=None, models={"encoder": encoder, "other": "model.safetensors"}, metrics=["mrr"])
    printed = CliRunner().invoke(main, ["run", str(path), "--out", "run"]).stdout.splitlines()
    (columns,), rows = (
        [line.split() for line in printed if line.startswith(name) and ":" not in line]
        for name in ("model ", ("enc", "oth"))
    )
    assert columns == ["model", "sides", "mrr"]
    values = [summarize(RankTable.from_parquet(f"run/{model}"), "mrr")["mrr"] for model in ("encoder", "other")]
    assert rows == [["encoder", "tail", f"{values[0]:.6f}"], ["other", "head,", "tail", f"{values[1]:.6f}"]]


@pytest.mark.parametrize(
    ("name", "by"), [("both.mrr", None), ("head.mrr", None), ("tail.mrr", None), ("both.mrr", "side")]
)
def test_metrics_of_other_sides_are_refused_before_anything_is_ranked(config, encoder, name, by):
    path = config(model=encoder, metrics=[name], by=by, output="new")
    if name == "tail.mrr":
        run(load_config(path), Path("new"))
    else:
        with pytest.raises(InputError, match="each group has one side" if by else f"{name}: only tails are ranked"):
            run(load_config(path), Path("new"))
    assert Path("new/ranks.parquet").exists() == (name == "tail.mrr")


def test_bounds_of_other_sides_are_refused_before_anything_is_ranked(config, encoder, place):
    path = config(model=None, models={"encoder": encoder, "other": "model.safetensors"})
    one = ["evaluate", "encoder", "--dataset", "graph", "--option", "similarity=cosine", "--out", "new"]
    for command, option, known in [
        (one, "head.mrr=.1", False),
        (one, "both.mrr=.1", False),
        (["run", str(path), "--out", "new"], "encoder.both.mrr=.1", False),
        (["run", str(path), "--out", "new"], "both.mrr=.1", False),
        (["run", str(path), "--out", "new"], "other.both.mrr=0", True),
    ]:
        result = CliRunner().invoke(main, [*command, "--fail-under", option])
        assert result.exit_code == (0 if known else 2)
        assert ("mrr: only tails are ranked" in result.output) == (not known)
        assert bool([*place.glob("new/**/ranks.parquet")]) == known


def test_sides_that_are_said_are_kept(config, encoder):
    with pytest.raises(InputError, match="the dual encoder has no query vectors of heads"):
        run(load_config(config(model=encoder, evaluation={"sides": ["head", "tail"]})), Path("run"))
