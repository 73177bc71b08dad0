"""Configurations with datasets and seeds: what is run and where, what is continued, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from kgeval import RankTable, evaluate, load_checkpoint, load_dataset
from kgeval.run_directory.contents import is_run
from tests.checkpoints.conftest import same_tables
from tests.cli.conftest import invoke

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*pin_memory.*:UserWarning"),
    pytest.mark.filterwarnings("ignore:Training instances are always shuffled:DeprecationWarning"),
]

TRAINED = {"kind": "pykeen", "model": "TransE", "model_kwargs": {"embedding_dim": 4}, "device": "cpu"}

GRID = {
    "datasets": ["nations", "graph"],
    "seeds": [3, 5],
    "models": {
        "trained": {**TRAINED, "training_kwargs": {"num_epochs": 1}},
        "popularity": "baseline:popularity",
    },
    "metrics": ["mrr"],
    "output": "runs",
}


def write(**keys):
    content = {key: value for key, value in {**GRID, **keys}.items() if value is not None}
    Path("grid.yaml").write_text(yaml.safe_dump(content, sort_keys=False))


def manifest(run):
    return json.loads((Path("runs") / run / "manifest.json").read_text())


@pytest.fixture
def finished(place):
    """The grid, whose first run was all that there was when it was repeated."""
    write()
    assert invoke("run", "grid.yaml", "--only", "dataset=nations,model=trained,seed=3").exit_code == 0
    first = (place / "runs/nations/trained/3/manifest.json").read_bytes()
    shown = invoke("run", "grid.yaml")
    assert shown.exit_code == 0, shown.stderr
    assert (place / "runs/nations/trained/3/manifest.json").read_bytes() == first
    return shown


def test_the_product_is_run_and_continued(finished, place):
    runs = {str(path.parent.relative_to("runs")) for path in Path("runs").rglob("ranks.parquet")}
    assert runs == {
        f"{name}/{run}" for name in ("nations", "graph") for run in ("trained/3", "trained/5", "popularity")
    }
    assert all(is_run(place / "runs" / run) for run in runs)
    seeds = {run: manifest(run)["seeds"] for run in runs if "trained" in run}
    assert seeds == {run: {"training": int(run[-1])} for run in seeds}
    assert manifest("graph/trained/5")["name"] == "trained"
    assert "nations mrr" in finished.stdout
    assert "2 seeds" in finished.stdout
    graph = load_dataset("graph")
    again = evaluate(load_checkpoint("runs/graph/trained/5/model", dataset=graph), graph)
    assert same_tables(RankTable.from_parquet("runs/graph/trained/5/ranks.parquet"), again)


def test_the_table_is_that_of_compare_and_runs_know_their_model(finished, data):
    grid = data("compare", "runs", "-m", "mrr")
    assert grid["models"] == ["trained", "popularity"]
    for block in grid["blocks"]:
        folder = Path("runs") / block["dataset"] / "trained"
        values = [json.loads((folder / seed / "metrics.json").read_text())["metrics"]["both"]["mrr"] for seed in "35"]
        score = block["scores"]["trained"]["mrr"]
        assert sorted(score["values"]) == pytest.approx(sorted(values))
        assert score["mean"] == pytest.approx(np.mean(values))
    assert set(data("summarize", "runs/graph")["models"]) == {"trained/3", "trained/5", "popularity"}
    repeated = invoke("run", "runs/graph/trained/3/config.yaml", "--out", "again")
    assert repeated.exit_code == 0, repeated.stderr


def test_checkpoints_have_their_dataset_and_seed_in_the_path(place, data):
    """The same files under other names: what is read is what the path names."""
    for dataset in ("first", "second"):
        for seed in (3, 5):
            shutil.copytree("model", f"saved/{dataset}/m-{seed}")
    options = {"model": "TransE", "norm": 1}
    models = {
        "m": {"path": "saved/{dataset}/m-{seed}", "options": options},
        "alone": {"path": "model", "options": options},
    }
    shutil.copytree("graph", "other")
    write(datasets={"first": "graph", "second": {"path": "other"}}, models=models)
    shown = invoke("run", "grid.yaml")
    assert shown.exit_code == 0, shown.stderr
    for dataset in ("first", "second"):
        for seed in (3, 5):
            config = yaml.safe_load(Path(f"runs/{dataset}/m/{seed}/config.yaml").read_text())
            assert config["model"]["path"] == f"saved/{dataset}/m-{seed}"
            assert config["model"]["seed"] == seed
            assert manifest(f"{dataset}/m/{seed}")["seeds"] == {"training": seed}
    assert is_run(Path("runs/second/alone"))
    assert data("compare", "runs", "-m", "mrr")["models"] == ["m", "alone"]


def test_runs_inside_pykeen_tell_their_seeds(place, data):
    from pykeen.pipeline import pipeline

    import kgeval.pykeen  # noqa: F401

    for seed in (3, 5):
        how = {"result_directory": f"inside/run-{seed}"}
        arguments = {"model_kwargs": {"embedding_dim": 4}, "training_kwargs": {"num_epochs": 1, "use_tqdm": False}}
        pipeline(
            dataset="nations", model="TransE", evaluator="kgeval", evaluator_kwargs=how, random_seed=seed, **arguments
        )
    (block,) = data("compare", "inside", "-m", "mrr")["blocks"]
    (name,) = block["scores"]
    assert name == "run"
    assert len(block["scores"][name]["mrr"]["values"]) == 2


WRONG = {
    "give either dataset (one) or datasets (several)": {"dataset": "nations"},
    "two datasets have the same name": {"datasets": ["nations", "nations"]},
    "expected a list of different whole numbers": {"seeds": [0, 0]},
    "models.trained also has a random_seed": {"models": {"trained": {**TRAINED, "random_seed": 1}}},
    "a model's name becomes the name of its folder": {"models": {"a/b": "model"}},
    "a model's name becomes the name of its folder, so it cannot be 'metrics.json'": {"models": {"metrics.json": "m"}},
    "the name 'report.html' cannot be the name of a folder": {"datasets": {"report.html": "nations"}},
    "output: expected the path of a folder, found 5": {"output": 5},
    "datasets and seeds need models by name": {"models": None},
    "models.trained/3.model: ": {"models": {"trained": {**TRAINED, "model": "TransEE"}}},
}


@pytest.mark.parametrize("message", WRONG)
def test_mistakes_are_refused_with_their_line(refused, message):
    write(**WRONG[message])
    found = refused("run", "grid.yaml")
    assert message in found
    assert "(config line " in found or WRONG[message] == {"models": None}


def test_only_chooses_what_there_is(refused, place):
    write()
    assert "--only dataset=nation: no such dataset. Did you mean 'nations'?" in refused(
        "run", "grid.yaml", "--only", "dataset=nation"
    )
    assert "--only seed=4: no such seed" in refused("run", "grid.yaml", "--only", "seed=4")
    assert "expected dataset=NAME" in refused("run", "grid.yaml", "--only", "nations")
    assert "has neither datasets nor seeds" in refused("run", "config.yaml", "--only", "seed=1")
