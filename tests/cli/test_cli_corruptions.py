"""Corruptions in a configuration: each kind runs, and tells in its run which files and which seed it took."""

from __future__ import annotations

import json

import pytest

from kgeval import load_dataset


def write_types(folder):
    data = load_dataset(folder.parent / "graph")
    for name, labels in (("entity2id", data.entities), ("relation2id", data.relations)):
        rows = "".join(f"{label}\t{index}\n" for index, label in enumerate(labels))
        (folder / f"{name}.txt").write_text(f"{len(labels)}\n{rows}")
    every = "\t".join(map(str, range(len(data.entities))))
    lists = "".join(2 * f"{relation}\t{len(data.entities)}\t{every}\n" for relation in range(len(data.relations)))
    (folder / "type_constrain.txt").write_text(f"{len(data.relations)}\n{lists}")


def metrics(folder):
    return json.loads((folder / "metrics.json").read_text())["metrics"]


def test_types_of_all_entities_are_no_constraint(done, place):
    (place / "types").mkdir()
    write_types(place / "types")
    typed = "evaluation.corruption={kind: typed, path: types/type_constrain.txt}"
    done("run", "config.yaml", "--out", "typed", "--set", typed)
    assert metrics(place / "typed") == metrics(place / "run")
    manifest = json.loads((place / "typed/manifest.json").read_text())
    assert "types/type_constrain.txt" in manifest["sha256"]


@pytest.mark.parametrize("kind", ["{kind: popular, count: 3, seed: 7}", "{kind: degree, count: 3, seed: 7}"])
def test_the_seed_of_a_draw_is_told(done, place, kind):
    done("run", "config.yaml", "--out", "drawn", "--set", f"evaluation.corruption={kind}")
    assert json.loads((place / "drawn/manifest.json").read_text())["seeds"] == {"corruption": 7}


def test_a_run_of_typed_candidates_can_be_run_again(done, place):
    done("run", "config.yaml", "--out", "typed", "--set", "evaluation.corruption={kind: typed, splits: [train, test]}")
    done("run", "typed/config.yaml", "--out", "again")
    assert metrics(place / "typed") == metrics(place / "again")


def test_typed_negatives_are_written(done, place):
    told = done("negatives", "graph", "--kind", "typed", "--splits", "train", "--splits", "test", "--out", "n.tsv")
    assert "negatives written to n.tsv" in told
