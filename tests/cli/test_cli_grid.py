"""Configurations with datasets and seeds: what is run and where, what is continued, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

import kgeval
from kgeval import RankTable, evaluate, load_checkpoint, load_dataset, summarize
from kgeval.stored.contents import is_run
from tests.cli.conftest import invoke
from tests.models.checkpoints.conftest import same_tables

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


def names_in(comparison):
    """The models of a comparison, in its order."""
    return list(dict.fromkeys(record["model"] for record in comparison["values"]))


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
    kinds = [re.sub(r"\d[\d.,]*", "#", note) for note in " ".join(finished.stderr.split()).split("Note: ")[1:]]
    assert len(set(kinds)) == len(kinds)  # each kind once for the same models and datasets
    assert any("popularity" in kind for kind in kinds)
    assert "2 seeds" in finished.stdout
    graph = load_dataset("graph")
    again = evaluate(load_checkpoint("runs/graph/trained/5/model", dataset=graph), graph)
    assert same_tables(RankTable.from_parquet("runs/graph/trained/5/ranks.parquet"), again)


def test_the_table_is_that_of_compare_and_runs_know_their_model(finished, data):
    grid = data("compare", "runs", "-m", "mrr")
    assert names_in(grid) == ["trained", "popularity"]
    for record in (one for one in grid["values"] if one["model"] == "trained"):
        folder = Path("runs") / record["dataset"] / "trained"
        values = [json.loads((folder / seed / "metrics.json").read_text())["metrics"]["both"]["mrr"] for seed in "35"]
        assert sorted(record["runs"]) == pytest.approx(sorted(values))
        assert record["value"] == pytest.approx(np.mean(values))
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
    with Path("other/train.txt").open("a") as train:
        train.write(Path("graph/test.txt").read_text())  # the same graph would be one dataset
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
    assert names_in(data("compare", "runs", "-m", "mrr")) == ["m", "alone"]


def test_runs_inside_pykeen_tell_their_seeds(place, data):
    from pykeen.pipeline import pipeline

    import kgeval.pykeen  # noqa: F401

    for seed in (3, 5):
        how = {"result_directory": f"inside/run-{seed}"}
        arguments = {"model_kwargs": {"embedding_dim": 4}, "training_kwargs": {"num_epochs": 1, "use_tqdm": False}}
        pipeline(
            dataset="nations", model="TransE", evaluator="kgeval", evaluator_kwargs=how, random_seed=seed, **arguments
        )
    (record,) = data("compare", "inside", "-m", "mrr")["values"]
    assert record["model"] == "run"
    assert len(record["runs"]) == 2


WRONG = {
    "give either dataset (one), or datasets or suite.graphs (several)": {"dataset": "nations"},
    "2 datasets are called 'nations' (config line 1). Name them, as in datasets: {nations-1: nations, nations-2": {
        "datasets": ["nations", "nations"]
    },
    "datasets.a/b: the name 'a/b' cannot be the name of a folder (config line 2). A name is not empty, has no slash": {
        "datasets": {"a/b": "nations"}
    },
    "grid.yaml: 1 problem\n  datasets.: the name '' cannot be the name of a folder": {"datasets": {"": "nations"}},
    "the name '..' cannot be the name of a folder (config line 2). Name it in datasets: {NAME: BLOCK}.": {
        "datasets": [{"name": "nations", "title": ".."}]
    },
    "expected a list of different whole numbers": {"seeds": [0, 0]},
    "models.trained: it has a random_seed, and there are seeds": {"models": {"trained": {**TRAINED, "random_seed": 1}}},
    "models.m: it has a seed, and there are seeds too": {"models": {"m": {"path": "model", "seeds": [1], "seed": 2}}},
    "models.m.seeds: all of these seeds would be one model": {"models": {"m": {"path": "model", "seeds": [1, 2]}}},
    "models.m.seeds: a path for each seed is": {"models": {"m": {"path": "model", "seeds": {1: "model"}}}},
    "models.m.seeds.1: no such file or folder 'modl'": {"models": {"m": {"seeds": {1: "modl"}}}},
    "a model's name becomes the name of its folder": {"models": {"a/b": "model"}},
    "output: expected text, found 5": {"output": 5},
    "a model's name becomes the name of its folder, so it cannot be 'metrics.json'": {"models": {"metrics.json": "m"}},
    "the name 'report.html' cannot be the name of a folder": {"datasets": {"report.html": "nations"}},
    "datasets and seeds need models by name": {"models": None},
    "models.trained.model: ": {"models": {"trained": {**TRAINED, "model": "TransEE"}}},
}


@pytest.mark.parametrize("message", WRONG)
def test_mistakes_are_refused_with_their_line(refused, message):
    write(**WRONG[message])
    found = refused("run", "grid.yaml")
    assert message in found
    assert "(config line " in found or WRONG[message] == {"models": None}


MISTAKES = """\
datasets: [graph/, nationz]
seeds: [0, 1, x]
models:
  TransE: {kind: pykeen, model: TransF9}
  popularity: baseline:populairty
  saved: "nowhere/{dataset}-{seed}"
metrics: [mrr, hits@10, head.amrii, ndcg@0]
outptu: runs/paper
"""


def test_all_mistakes_are_told_at_once_and_once(refused, place):
    Path("grid.yaml").write_text(MISTAKES)
    first, *told = refused("run", "grid.yaml").splitlines()
    found = [(line.split(":")[0].strip(), int(line.split("(config line ")[1].split(")")[0])) for line in told]
    assert sorted(found) == [
        ("datasets.1", 1),
        ("metrics.2", 7),
        ("metrics.3", 7),
        ("models.TransE.model", 4),
        ("models.popularity", 5),
        *[("models.saved.path", 6)] * 4,
        ("outptu", 8),
        ("seeds", 2),
    ]
    assert first == "Error: grid.yaml: 11 problems"
    assert {name for name in ("graph-0", "graph-1", "nationz-0", "nationz-1") if f"'nowhere/{name}'" in str(told)} == {
        *("graph-0", "graph-1", "nationz-0", "nationz-1")
    }
    assert not Path("runs").exists()


def test_the_rest_is_checked_where_no_dataset_is_named(refused, place):
    write(datasets=None, models={"a/b": "nowhere"}, metrics=["mrrr"])
    told = refused("run", "grid.yaml").splitlines()[1:]
    starts = ("datasets: give", "models.a/b: a model's name", "models.a/b.path: no such", "metrics.0: unknown")
    assert len(told) == len(starts)
    assert all(any(line.strip().startswith(start) for line in told) for start in starts)


def test_what_was_not_written_is_not_said_to_be(place):
    shutil.copytree("graph", "broken")
    Path("broken/test.txt").write_text("only two\tcells\n")
    write(datasets=["graph/", "broken/"], models={"popularity": "baseline:popularity"}, seeds=None)
    shown = invoke("run", "grid.yaml")
    assert shown.exit_code == 1
    assert shown.stderr.count("Written to") == 1
    assert "Written to runs/graph" in shown.stderr
    assert not Path("runs/broken").exists()


def test_each_model_may_have_seeds_of_its_own(place, data):
    """The mean of a model is over its own checkpoints; every model keeps its name."""
    options = {"model": "TransE", "norm": 1}
    rng = np.random.default_rng(1)
    for name in ("one", "other", "m-2", "m-4", "m-6", "single", "twin"):
        shutil.copytree("model", name)
        arrays = {"entity": rng.normal(size=(8, 4)), "relation": rng.normal(size=(3, 4))}
        np.savez(f"{name}/arrays.npz", **arrays)
    models = {
        "listed": {"seeds": {1: "one", 7: "other"}, "options": options},
        "named": {"path": "m-{seed}", "seeds": [2, 4, 6], "options": options},
        "alone": {"path": "single", "seed": 1, "options": options},
        "second": {"path": "twin", "seed": 2, "options": options},
    }
    write(datasets=["graph/"], seeds=None, models=models)
    shown = invoke("run", "grid.yaml")
    assert shown.exit_code == 0, shown.stderr
    expected = {
        "listed": ("one", "other"), "named": ("m-2", "m-4", "m-6"), "alone": ("single",), "second": ("twin",)
    }  # fmt: skip
    records = {record["model"]: record for record in data("compare", "runs", "-m", "mrr")["values"]}
    graph = load_dataset("graph/")
    assert [*records] == [*expected]
    for name, folders in expected.items():
        checkpoints = [load_checkpoint(folder, **options) for folder in folders]
        values = [summarize(evaluate(checkpoint, graph), ["mrr"])["mrr"] for checkpoint in checkpoints]
        assert sorted(records[name]["runs"]) == pytest.approx(sorted(values))
    assert manifest("graph/listed/7")["seeds"] == {"training": 7}
    assert (
        "only kgeval run makes"
        in invoke("evaluate", "one", "--dataset", "graph/", "--set", "model.seeds=[1, 2]").stderr
    )


def test_runs_of_different_models_are_not_seeds_of_one(place, data):
    """Their configurations differ in paths and seeds alone; what the files hold says that they are two models."""
    for seed, name in enumerate(("first", "other")):
        shutil.copytree("model", name)
        options = {"model": ("TransE", "DistMult")[seed], **({} if seed else {"norm": 1})}
        kgeval.save_checkpoint(load_checkpoint(name, **options), f"{name}.safetensors")
        config = {"dataset": "graph/", "model": {"path": f"{name}.safetensors", "seed": seed}, "metrics": ["mrr"]}
        Path("one.yaml").write_text(yaml.safe_dump(config))
        assert invoke("run", "one.yaml", "--out", f"runs/{name}").exit_code == 0
    assert names_in(data("compare", "runs", "-m", "mrr")) == ["first", "other"]


def test_given_names_of_datasets_are_used_everywhere(place, data, refused):
    """Two folders of one last name, and a graph under another name than its own."""
    for folder in ("v1/raw", "v2/raw"):
        shutil.copytree("graph", folder)
    rows = Path("graph/test.txt").read_text().splitlines(keepends=True)
    Path("v2/raw/test.txt").write_text("".join(rows[:-1]))
    Path("v1/raw/test.txt").write_text("".join(rows[1:]))
    models = {"popularity": "baseline:popularity", "types": "baseline:types"}
    write(datasets={"G v1": "v1/raw", "G (v2)": {"path": "v2/raw"}, "raw": "graph"}, seeds=None, models=models)
    shown = invoke("run", "grid.yaml")
    assert shown.exit_code == 0, shown.stderr
    table = data("compare", "runs", "-m", "mrr")
    assert list(dict.fromkeys(record["dataset"] for record in table["values"])) == ["G (v2)", "G v1", "raw"]
    for name, path in {"G v1": "v1/raw", "G (v2)": "v2/raw", "raw": "graph/"}.items():
        run = Path("runs") / name / "types"
        assert manifest(f"{name}/types")["dataset"]["name"] == name
        assert RankTable.from_parquet(run).dataset == name
        assert f"types on {name}, " in invoke("summarize", run).stdout
        assert f"{name} mrr" in shown.stdout
        again = invoke("run", run / "config.yaml", "--out", f"again/{name}")
        assert f"types on {name}, " in again.stdout, again.stderr
        expected = len(load_dataset(path).test)
        assert RankTable.from_parquet(run).num_triples == expected
    write(datasets=["v1/raw", "v2/raw"], seeds=None, models=models)
    assert "Name them, as in datasets: {raw-1: v1/raw, raw-2: v2/raw}." in refused("run", "grid.yaml")


def test_only_chooses_what_there_is(refused, place):
    write()
    assert "--only dataset=nation: no such dataset. Did you mean 'nations'?" in refused(
        "run", "grid.yaml", "--only", "dataset=nation"
    )
    assert "--only seed=4: no such seed" in refused("run", "grid.yaml", "--only", "seed=4")
    assert "expected dataset=NAME" in refused("run", "grid.yaml", "--only", "nations")
    assert "has neither datasets nor seeds" in refused("run", "config.yaml", "--only", "seed=1")
