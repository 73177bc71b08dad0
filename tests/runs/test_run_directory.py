"""Run directories: what is in them, that it is true, and that it can be done again."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest
import yaml

import kgeval
from kgeval import Dataset, RankTable, evaluate, load_checkpoint, load_dataset, summarize
from kgeval.base.errors import ConfigError, InputError, RunError
from kgeval.base.files import sha256_of_file
from kgeval.data.fingerprint import fingerprint
from kgeval.runs.config.load import check_against_dataset, load_config
from kgeval.runs.runner import run
from kgeval.stored.contents import source_commit
from tests.models.checkpoints.conftest import same_tables

FILES = {"config.yaml", "manifest.json", "metrics.json", "ranks.parquet"}


def make(config, out="run", overrides=(), **keys):
    """Run a configuration of the given keys; return the folder."""
    run(load_config(config(**keys), overrides), Path(out))
    return Path(out)


def columns(folder):
    return RankTable.from_parquet(folder / "ranks.parquet").data.to_pydict()


def test_it_holds_four_files_and_the_ranks_of_the_library(config):
    folder = make(config)
    assert {path.name for path in folder.iterdir()} == FILES
    graph = load_dataset("graph/")
    expected = evaluate(load_checkpoint("model.safetensors", dataset=graph), graph)
    assert same_tables(RankTable.from_parquet(folder / "ranks.parquet"), expected)


def test_the_metrics_are_a_function_of_the_ranks(config):
    folder = make(config, metrics=["mrr", "head.hits@3"], ties="expected")
    table = RankTable.from_parquet(folder / "ranks.parquet")
    expected = summarize(table, ["mrr", "head.hits@3"], ties="expected").to_dict()
    assert json.loads((folder / "metrics.json").read_text()) == expected
    assert expected["schema"] == 1


def test_the_configuration_is_the_resolved_one(config):
    content = yaml.safe_load((make(config, protocol="pykeen") / "config.yaml").read_text())
    assert content["evaluation"]["filter"] == ["train", "valid", "test"]
    assert content["evaluation"]["corruption"] == {"kind": "all"}
    assert content["ties"] == "realistic"
    assert "inverse_harmonic_mean_rank" in content["metrics"]
    assert content["model"]["kind"] == "checkpoint"
    assert content["output"] == "run"


SETTINGS = {
    "plain": {},
    "raw": {"evaluation": {"filter": []}},
    "one side of valid": {"evaluation": {"split": "valid", "sides": ["tail"]}},
    "sampled": {"evaluation": {"corruption": {"kind": "uniform", "count": 3, "seed": 11}}},
    "protocol": {"protocol": "pykeen"},
    "other metrics": {"metrics": ["pessimistic.mrr"], "ties": "expected"},
    "blocks": {"evaluation": {"batch_size": 1, "threads": 1, "kernel": "reference"}},
    "bare dataset": {"dataset": "./graph"},
}


@pytest.mark.parametrize("keys", SETTINGS.values(), ids=SETTINGS)
def test_the_resolved_configuration_gives_the_same_run_again(config, place, keys):
    first = make(config, **keys)
    run(load_config(first / "config.yaml"), place / "again")
    assert columns(place / "again") == columns(first)
    assert (place / "again/metrics.json").read_bytes() == (first / "metrics.json").read_bytes()
    contents = [yaml.safe_load((folder / "config.yaml").read_text()) for folder in (first, place / "again")]
    assert [{**content, "output": None} for content in contents] == [{**contents[0], "output": None}] * 2


def test_awkward_texts_survive_in_the_configuration(config, place):
    name = "mödel: {x} # 'y'.safetensors"
    shutil.copy(place / "model.safetensors", place / name)
    folder = make(config, model={"path": name})
    assert load_config(folder / "config.yaml").jobs[""].path == name


def test_a_large_file_has_its_fingerprint(place):
    content = bytes(range(256)) * 10_000 + b"end"
    (place / "large").write_bytes(content)
    assert sha256_of_file(place / "large") == hashlib.sha256(content).hexdigest()


def test_labels_beside_the_model_have_a_fingerprint_too(config, place):
    folder = place / "model"
    folder.mkdir()
    np.savez(folder / "m.npz", entity=np.ones((9, 2)), relation=np.ones((2, 2)))
    (folder / "entities.tsv").write_text("".join(f"{index}\te{index}\n" for index in range(9)))
    keys = {"model": {"path": "model", "options": {"model": "DistMult", "ids": "dataset"}}}
    manifest = json.loads((make(config, **keys) / "manifest.json").read_text())
    assert {"model/m.npz", "model/entities.tsv"} <= manifest["sha256"].keys()


def test_the_manifest_tells_what_was_evaluated_and_how(config, place):
    before = datetime.now(timezone.utc).replace(microsecond=0)
    sampled = {"sides": "tail", "corruption": {"kind": "uniform", "count": 3, "seed": 11}}
    manifest = json.loads((make(config, evaluation=sampled) / "manifest.json").read_text())
    assert manifest["schema"] == 1
    assert before <= datetime.fromisoformat(manifest["time"]) <= datetime.now(timezone.utc)
    assert (manifest["python"], manifest["machine"]["system"]) == (platform.python_version(), platform.system())
    assert all(manifest["versions"][name] == importlib.metadata.version(name) for name in ("numpy", "kgeval"))
    assert set(manifest["seconds"]) == {"load dataset", "load model", "rank", "summarize"}
    files = ["graph/train.txt", "graph/valid.txt", "graph/test.txt", "model.safetensors"]
    assert manifest["sha256"] == {name: hashlib.sha256((place / name).read_bytes()).hexdigest() for name in files}
    assert (manifest["seeds"], manifest["ranked"]) == ({"corruption": 11}, {"triples": 5, "ranks": 5})
    assert manifest["dataset"].pop("sha256") == load_dataset("graph").sha256()
    assert manifest["dataset"].pop("fingerprint") == fingerprint(load_dataset(place / "graph"))
    assert manifest["dataset"] == {
        "name": "graph",
        "entities": 9,
        "relations": 2,
        "triples": {"train": 10, "valid": 3, "test": 5},
        "repeated": {},
    }
    assert (manifest["model"]["model"], manifest["model"]["format"]) == ("DistMult", "native")
    assert manifest["notes"] == []


def test_repeated_triples_are_told(config, place):
    path = place / "graph/test.txt"
    path.write_text(path.read_text() * 2)
    folder = make(config)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["dataset"]["repeated"] == {"test": 5}
    assert manifest["notes"] == list(RankTable.from_parquet(folder / "ranks.parquet").notes)
    assert "5 repeated test triples" in manifest["notes"][0]


def test_several_models_are_several_runs_which_can_be_done_again_alone(config, place):
    models = {"one": "model.safetensors", "two": "spare/other.safetensors"}
    folder = make(config, model=None, models=models)
    assert {path.name for path in folder.iterdir()} == {"one", "two", "metrics.json"}
    assert columns(folder / "one") != columns(folder / "two")
    for name, path in models.items():
        alone = make(config, out=f"alone-{name}", model=path)
        assert columns(folder / name) == columns(alone)
    run(load_config(folder / "two/config.yaml"), place / "again")
    assert columns(place / "again") == columns(folder / "two")


# Folders that are in use, or cannot be used


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_folder_with_any_part_of_a_run_is_in_use(config, place, name):
    (place / "used").mkdir()
    (place / "used" / name).touch()
    with pytest.raises(InputError, match=rf"already holds a run \({name}\)"):
        make(config, out="used")
    assert [path.name for path in (place / "used").iterdir()] == [name]


def test_other_files_in_a_folder_are_left_alone(config, place):
    (place / "used").mkdir()
    (place / "used/notes.txt").write_text("mine")
    assert {path.name for path in make(config, out="used").iterdir()} == {*FILES, "notes.txt"}
    assert (place / "used/notes.txt").read_text() == "mine"


def test_force_replaces_every_file(config, place):
    folder = make(config)
    run(load_config(config(evaluation={"split": "valid"})), folder, force=True)
    assert RankTable.from_parquet(folder / "ranks.parquet").split == "valid"
    assert json.loads((folder / "metrics.json").read_text())["split"] == "valid"
    assert yaml.safe_load((folder / "config.yaml").read_text())["evaluation"]["split"] == "valid"


A_FILE = (InputError, "is a file, but a run needs a folder")
NO_FOLDERS = {
    **dict.fromkeys(("model.safetensors", "model.safetensors/run"), A_FILE),
    "x" * 300: (RunError, "cannot make the folder"),
    os.fsdecode(b"run-\xff"): (InputError, "not UTF-8 text"),
}


@pytest.mark.parametrize("out", NO_FOLDERS, ids=ascii)
def test_what_is_no_folder_for_a_run_is_told_before_the_work(config, place, out):
    error, message = NO_FOLDERS[out]
    (place / "graph/test.txt").write_text("never read")
    with pytest.raises(error, match=message):
        make(config, out=out)


# What the dataset does not have


def refused_lines(config, *overrides, content):
    path = config(content)
    with pytest.raises(ConfigError) as refusal:
        run(load_config(path, overrides), Path("run"))
    assert not list(Path("run").glob("*"))
    return [line.strip() for line in str(refusal.value).splitlines()[1:]]


TRAINED = "model: {kind: pykeen, model: TransE, training_kwargs: {num_epochs: 1}}"


@pytest.mark.parametrize("model", ["model: model.safetensors", TRAINED], ids=["read", "trained"])
def test_a_split_that_the_dataset_lacks_is_told_before_anything_is_trained(config, place, monkeypatch, model):
    monkeypatch.setattr("pykeen.pipeline.pipeline", lambda **_: pytest.fail("it was trained"))
    (place / "graph/valid.txt").unlink()
    content = f"dataset: {{path: graph}}\n{model}\nevaluation:\n  split: valid\n  filter: [train, valid]\n"
    assert refused_lines(config, content=content) == [
        "evaluation.split: dataset graph: it has no valid triples (config line 4). Choose one of 'test', 'train'.",
        "evaluation.filter.1: dataset graph: it has no valid triples (config line 5). Choose one of 'test', 'train'.",
    ]


def test_a_model_is_not_trained_without_triples_to_train_on(config, place):
    graph = load_dataset("nations")
    nothing = Dataset.build("none", {"test": graph.test}, entities=graph.entities, relations=graph.relations)
    settings = load_config(config(f"dataset: {{path: graph}}\n{TRAINED}\n"))
    with pytest.raises(ConfigError, match=r"model: dataset none has no train triples \(config line 2\)"):
        check_against_dataset(settings, nothing)


def test_a_filter_that_nobody_spelled_out_takes_the_splits_that_there_are(config, place):
    (place / "graph/valid.txt").unlink()
    folder = make(config)
    assert yaml.safe_load((folder / "config.yaml").read_text())["evaluation"]["filter"] == ["train", "test"]
    run(load_config(folder / "config.yaml"), place / "again")
    assert columns(place / "again") == columns(folder)


OF_FILE = "evaluation:\n  corruption: {kind: file, path: negatives.tsv}"


@pytest.mark.parametrize(
    ("block", "negatives", "message"),
    [
        (OF_FILE, "e0\teats\n", "negatives.tsv, line 1: 2 columns where 3 columns"),
        (OF_FILE, "e0\teats\tnobody\n", "the tail 'nobody' is no entity of the dataset"),
        (OF_FILE, "e0\teats\te0\n", "none of its 1 negatives belongs"),
        ("protocol: ogb", "", "protocol: the protocol 'ogb' ranks among the fixed negatives"),
    ],
)
def test_unfit_negatives_are_told_before_anything_is_trained(config, place, monkeypatch, block, negatives, message):
    monkeypatch.setattr("pykeen.pipeline.pipeline", lambda **_: pytest.fail("it was trained"))
    (place / "negatives.tsv").write_text(negatives)
    (told,) = refused_lines(config, content=f"dataset: {{path: graph}}\n{TRAINED}\n{block}\n")
    assert told.startswith("evaluation.corruption.path: " if negatives else "protocol: ")
    assert message in told
    assert f"(config line {3 + bool(negatives)})" in told


def test_a_model_that_is_trained_needs_a_folder(config):
    keys = {"model": {"kind": "pykeen", "model": "TransE"}}
    with pytest.raises(InputError, match="a model to train needs a folder to be saved in"):
        run(load_config(config(**keys)), None)


@pytest.mark.parametrize("several", [False, True])
def test_a_folder_with_files_of_somebody_else_is_told_and_they_stay(config, place, several):
    models = {"model": None, "models": {"a": "model.safetensors", "b": "spare/other.safetensors"}} if several else {}
    path, warned = config(**models), []
    (place / "full").mkdir()
    for name in ("thesis.tex", "b.csv", "c.csv", "d.csv", ".gitkeep"):
        (place / "full" / name).write_text(name)
    run(load_config(path), place / "full", warn=warned.append)
    told = "'full' holds other files (b.csv, c.csv, d.csv, …). They are kept; the run is written beside them."
    assert [text.replace(f"{place}/", "") for text in warned] == [told]
    assert (place / "full/thesis.tex").read_text() == "thesis.tex"
    run(load_config(path), place / "own", warn=warned.append)
    run(load_config(path), place / "own", force=True, warn=warned.append)
    assert len(warned) == 1


def test_the_commit_is_that_of_the_checkout(monkeypatch, tmp_path):
    checkout = Path(kgeval.__file__).parents[1]
    if not (checkout / ".git").exists():
        pytest.skip("the code is no checkout of a repository")
    git = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    monkeypatch.delenv("GIT_DIR", raising=False)
    head = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    monkeypatch.setenv("GIT_DIR", str(tmp_path))  # as in a hook of another repository
    assert source_commit.__wrapped__().removesuffix("-dirty") == head
