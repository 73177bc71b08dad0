"""``kgeval inspect``, what a path is, and ``kgeval audit``, what there is in a dataset."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import kgeval
from kgeval.analysis import audit
from kgeval.data.layouts import layouts
from tests.cli.conftest import CONFIG, invoke, write_config

NOTES = {
    split: f"{count} triples ({share}) are in train with head and tail swapped under a symmetric or inverse relation: "
    f"{relations}."
    for split, count, share, relations in (
        ("valid", "3 of 4 validation", "75.0 %", "2 of relation 'likes', 1 of relation 'eats'"),
        ("test", "2 of 6 test", "33.3 %", "1 of relation 'eats', 1 of relation 'likes'"),
    )
}
"""What there is to know about the graph, in which 3(3h + 1) + 5 = h (mod 8): who eats is liked by what it eats."""


def test_a_dataset_is_described(data):
    assert data("inspect", "graph/") == {
        "dataset": "graph/",
        "name": "graph",
        "entities": 8,
        "relations": 3,
        "triples": {"train": 14, "valid": 4, "test": 6},
        "layout": f"labels (by train.txt, test.txt): {layouts()['labels'].summary}",
        "repeated triples, left out": {},
        "repeated in train": {"valid": 0, "test": 0},
        "swapped in train": {"valid": 3, "test": 2},
        "notes": [NOTES["test"]],
        "note_kinds": ["leaks"],
        "files": ["graph/train.txt", "graph/valid.txt", "graph/test.txt"],
    }


def test_a_checkpoint_is_described(data):
    described = data("inspect", "model", "--option", "model=TransE", "--option", "norm=2")
    assert (described["format"], described["model"], described["options"]) == ("native", "TransE", {"norm": 2})
    assert (described["entities"], described["relations"], described["reciprocal"]) == (8, 3, False)
    assert described["arrays"] == {"entity": "float64 [8, 4]", "relation": "float64 [3, 4]"}
    assert described["files"] == ["model/arrays.npz", "model/entities.tsv", "model/relations.tsv"]


def test_inspect_takes_how_both_are_read_as_evaluate_does(data, refused, place):
    """What the messages recommend is what it takes: --checkpoint-format, --layout, --nan, --option."""
    options = ("--option", "model=DistMult")
    assert data(
        "inspect", "model", *options, "--checkpoint-format", "native", "--dataset", "graph", "--layout", "labels"
    )
    assert data("inspect", "graph/", "--layout", "labels")["triples"]["test"] == 6
    entity = np.full((8, 4), np.nan)
    np.savez(place / "nan.npz", entity=entity, relation=np.ones((3, 4)))
    assert "--nan worst (in Python nan='worst')" in refused("inspect", "nan.npz", *options)
    assert data("inspect", "nan.npz", *options, "--nan", "worst")["entities"] == 8


def test_complex_queries_are_refused_as_such_in_a_folder_of_pickles(refused, place):
    (place / "beta").mkdir()
    (place / "beta/train-queries.pkl").write_bytes(b"\x80\x04N.")
    assert "holds complex queries (train-queries.pkl)" in refused("inspect", "beta")


def test_predictions_are_described_with_the_dataset_that_they_are_about(data, place):
    (place / "p.txt").write_text("ant eats bee\nHeads: ant\t0.5\t\nTails: bee\t0.5\tcat\t0.25\t\n")
    described = data("inspect", "p.txt", "--dataset", "graph/")
    assert (described["format"], described["entities"], described["relations"]) == ("anyburl", 8, 3)


def test_a_run_is_described(data):
    described = data("inspect", "run")
    assert described["complete"] is True
    assert described["dataset"]["triples"] == {"train": 14, "valid": 4, "test": 6}
    assert described["model"]["model"] == "TransE"
    assert described["metrics"]["both"]["count"] == 12


def test_people_get_a_page_of_several_runs(done, place):
    models = {name: {"path": "model", "options": {"model": name}} for name in ("ComplEx", "DistMult")}
    write_config(place / "several.yaml", {"dataset": "./graph", "models": models, "metrics": ["mrr", "hits@1"]})
    done("run", "several.yaml", "--out", "several")
    page = done("inspect", "several").splitlines()
    header = next(index for index, line in enumerate(page) if line.split()[:1] == ["model"])
    assert page[header].split() == ["model", "state", "ties", "mrr", "hits@1"]
    metrics = json.loads((place / "several/metrics.json").read_text())["models"]
    for row, (name, content) in zip(page[header + 2 :], metrics.items(), strict=True):
        values = (f"{value:.6f}" for value in content["metrics"]["both"].values())
        assert row.split() == [name, "finished", "realistic", *values]


@pytest.mark.parametrize("value", ["!!float x", "[" * 3000, "9" * 5000])
def test_values_that_yaml_cannot_build_are_refused(refused, value):
    assert "--option" in refused("inspect", "model", "--option", f"model={value}")


DAMAGED = ["[]", "5", "null", '"x"', "{", '{"a": NaN}', "", "[" * 100_000, "\0"]


@pytest.mark.parametrize("content", DAMAGED, ids=lambda text: text[:5])
@pytest.mark.parametrize("name", ["manifest.json", "metrics.json"])
def test_a_damaged_run_is_refused(refused, place, name, content):
    (place / "run" / name).write_text(content)
    assert "run" in refused("inspect", "run")


@pytest.mark.parametrize("how", ["missing", "folder", "binary"])
def test_a_run_without_its_metrics_is_refused(refused, place, how):
    path = place / "run/metrics.json"
    path.unlink()
    if how == "folder":
        path.mkdir()
    if how == "binary":
        path.write_bytes(b"\xff\xfe\x00")
    assert "metrics.json" in refused("inspect", "run")


def test_a_folder_that_only_looks_like_a_run_is_none(refused, place):
    shutil.rmtree(place / "run")
    (place / "run/ranks.parquet").mkdir(parents=True)
    (place / "run/manifest.json").write_text("{}")
    assert "in no known layout" in refused("inspect", "run")


def test_the_ranks_of_a_run_are_described(data, done):
    found = data("inspect", "run/ranks.parquet")
    expected = {"table": "run/ranks.parquet", "sides": ["head", "tail"], "ranks": 12}
    what = "33.3 % of the ranked triples are in train, unchanged or with head and tail swapped"
    parts = "has them as repeated and reverse; its group none leaves out the groups duplicate and inverse too"
    expected["notes"] = [f"{what}. The slice leak (kgeval summarize RUN --by leak) {parts}."]
    expected["note_kinds"] = ["leaks"]
    assert found == expected | data("summarize", "run")["provenance"]
    assert data("inspect", "run")["provenance"] == data("summarize", "run")["provenance"]
    assert "head" in done("inspect", "run/ranks.parquet")


def test_a_parquet_file_without_ranks_is_refused(refused, place):
    (place / "triples.parquet").write_bytes((place / "config.yaml").read_bytes())
    assert "not a readable rank table" in refused("inspect", "triples.parquet")


def test_a_run_that_was_interrupted_is_said_to_be_incomplete(data, done, place):
    (place / "run/manifest.json").unlink()
    described = data("inspect", "run")
    assert (described["complete"], described["triples"], described["split"]) == (False, 6, "test")
    assert "manifest.json" in described["missing"]
    assert "the run is not finished" in done("inspect", "run")


def test_a_path_that_is_no_text_is_refused(refused, place):
    shutil.copytree(place / "graph", place / os.fsdecode(b"graph-\xff"))
    assert "is not UTF-8 text" in refused("inspect", os.fsdecode(b"graph-\xff"))


@pytest.mark.skipif(not Path("/proc/1").is_dir(), reason="the system's folder of processes is Linux's")
@pytest.mark.parametrize("folder", ["/proc", "/proc/1"])
@pytest.mark.parametrize("command", ["inspect", "convert --out x", "evaluate baseline:types --dataset", "audit"])
def test_a_folder_of_the_system_is_refused(refused, command, folder):
    assert f"{folder}: it is a part of the system" in refused(*command.split(), folder)


def test_inspect_tells_what_an_unknown_file_holds(place, refused, data):
    torch = pytest.importorskip("torch")
    torch.save({"nodes.weight": torch.ones(8, 4), "edges.weight": torch.ones(3, 4)}, place / "stranger.pt")
    said = refused("inspect", "stranger.pt")
    assert "found stranger.pt (nodes.weight [8, 4], edges.weight [3, 4]).\n" in said
    assert len(said.splitlines()) == 3
    named = ("--option", "entity=nodes.weight", "--option", "relation=edges.weight", "--option", "model=DistMult")
    assert data("inspect", "stranger.pt", *named)["format"] == "state-dict"
    assert "A dataset is a folder" not in said


def test_how_far_a_run_has_come_of_which_some_shards_are_ranked(place, data, done, refused):
    done("run", "config.yaml", "--out", "big", "--shard", "1/3")
    said = data("inspect", "big")
    assert (said["complete"], said["missing"]) == (False, "manifest.json: the run is not finished")
    for message in (said["notes"][0], refused("summarize", "big")):
        assert "not finished: 1 of 3 shards is ranked." in message
        assert "if it was divided by --shard, rank the others, then: kgeval merge big" in message
    for shard in ("2/3", "3/3"):
        done("run", "config.yaml", "--out", "big", "--shard", shard)
    done("merge", "big")
    assert data("summarize", "big") == data("summarize", "run")


def test_folders_that_are_not_near_are_not_offered_as_datasets(place, refused):
    (place / "c").mkdir()
    said = refused("inspect", "nowhere")
    assert "'kgeval list datasets' shows all" in said
    assert "'c'" not in said


def test_runs_are_described_by_their_own_records_which_are_checked(done, data, place):
    """A baseline beside a model gives both another tie policy than the model has by itself."""
    models = {"one": CONFIG["model"], "floor": {"baseline": "popularity"}}
    write_config(place / "two.yaml", {"dataset": "./graph", "models": models})
    done("run", "two.yaml", "--out", "two")
    table = json.loads((place / "two/metrics.json").read_text())["models"]
    own = place / "two/one/metrics.json"
    assert (table["one"]["ties"], json.loads(own.read_text())["ties"]) == ("expected", "realistic")
    common = place / "two/metrics.json"
    common.write_text(common.read_text().replace("0.", "0.9"))  # which nobody checks
    shown, records = data("inspect", "two")["models"], {name: data("inspect", f"two/{name}") for name in models}
    assert {name: shown[name] for name in models} == {
        name: {key: records[name][key] for key in ("complete", "state", "metrics")} | {"ties": ties}
        for name, ties in {"one": "realistic", "floor": "expected"}.items()
    }
    assert {model["state"] for model in shown.values()} == {"finished"}
    own.write_text(own.read_text().replace("0.", "1."))
    told = data("inspect", "two")
    assert told["models"]["one"] == {"complete": True, "state": "altered", "ties": None, "metrics": {}}
    assert "one: 'two/one' changed since the run was written: metrics.json." in told["notes"]


def test_runs_are_found_as_deep_as_summarize_finds_them(data, place):
    (place / "all/umls").mkdir(parents=True)
    (place / "run").rename(place / "all/umls/TransE")
    assert list(data("inspect", "all")["models"]) == list(data("summarize", "all")["models"]) == ["umls/TransE"]


def test_json_and_file_are_what_python_gives(data, done, place):
    expected = audit(kgeval.load_dataset("graph"), threshold=0.5).to_dict()
    assert data("audit", "graph", "--threshold", "0.5") == expected
    done("audit", "graph", "--threshold", "0.5", "--out", "made/audit.json")
    assert json.loads((place / "made/audit.json").read_text(encoding="utf-8")) == expected
    assert [path.name for path in (place / "made").iterdir()] == ["audit.json"]


def test_names_are_shown(done, place):
    (place / "names.tsv").write_text("eats\tfeeds on\n")
    assert "feeds on (eats) and likes (8 of 8)" in done("audit", "graph", "--names", "names.tsv")


def test_notes_are_left_out_if_nobody_wants_them(place):
    assert "Written to" in invoke("audit", "graph", "--out", "a.json").stderr
    assert invoke("audit", "graph", "--out", "b.json", "--quiet").stderr == ""


@pytest.mark.parametrize(("columns", "ties"), [("rank", "as in the file"), ("greater,tied", "known")])
def test_ranks_of_another_program_are_described(data, place, columns, ties):
    names = ["tail", "head", "rel", "side", *columns.split(","), "loss"]
    rows = [["ant", "bee", "eats", "tail", *("2" for _ in columns.split(",")), "0.5"]] * 3
    (place / "theirs.csv").write_text("".join(",".join(row) + "\n" for row in [names, *rows]))
    found = data("inspect", "theirs.csv")
    assert (found["ranks"], found["rows"], found["ties"]) == ("theirs.csv", 3, ties)
    assert found["columns"]["head"] == "column 'head'"
    assert found["columns"]["relation"] == "column 'rel'"
    assert found["not used"] == ["loss"]
