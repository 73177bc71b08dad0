"""Corruptions in a configuration: each kind runs, and tells in its run which files and which seed it took."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kgeval import load_dataset
from tests.data import stored_layouts


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
    told = done("negatives", "graph", "--corruption", "typed:splits=[train,test]", "--out", "n.tsv")
    assert "negatives written to n.tsv" in told


OGB = ["m.npz", "--dataset", "ogb", "--option", "model=DistMult"]


@pytest.fixture
def listed(place):
    """An OGB folder, a model of it, and the MRR that OGB's formula gives among the negatives as they are listed."""
    pytest.importorskip("torch")
    stored_layouts.ogb(place / "ogb")
    rng = np.random.default_rng(0)
    entities, relations = rng.integers(-2, 3, (5, 3)).astype(float), rng.integers(-2, 3, (2, 3)).astype(float)
    np.savez(place / "m.npz", entity=entities, relation=relations)
    ranks = []
    for row, (h, r, t) in enumerate(stored_layouts.SPLITS["test"]):
        for side, asked, answer in (("head", t, h), ("tail", h, t)):
            scores = entities @ (entities[asked] * relations[r])
            negatives = scores[stored_layouts.NEGATIVES["test"][f"{side}_neg"][row]]
            ranks.append(1 + 0.5 * ((negatives > scores[answer]).sum() + (negatives >= scores[answer]).sum()))
    return float(np.mean(1 / np.array(ranks)))


def test_the_protocol_of_ogb_takes_the_negatives_of_the_dataset(data, done, place, listed):
    told = data("evaluate", *OGB, "--protocol", "ogb", "--out", "run-ogb")
    assert told["protocol"]["metrics"]["mrr_list"] == pytest.approx(listed, abs=1e-6)
    assert metrics(place / "run-ogb")["both"]["mrr"] == pytest.approx(listed, abs=1e-12)
    assert metrics(place / "run-ogb")["both"]["mrr"] != data("evaluate", *OGB)["metrics"]["both"]["mrr"]
    manifest = json.loads((place / "run-ogb/manifest.json").read_text())
    assert "ogb/split/time/test.pt" in manifest["sha256"]
    assert "as_listed: true" in (place / "run-ogb/config.yaml").read_text()
    done("run", "run-ogb/config.yaml", "--out", "again")
    assert metrics(place / "again") == metrics(place / "run-ogb")
    done("run", "run-ogb/config.yaml", "--out", "all", "--set", "evaluation.corruption={kind: all}")
    assert metrics(place / "all")["both"]["mrr"] != metrics(place / "run-ogb")["both"]["mrr"]


def test_the_explanation_finds_the_candidates_to_be_the_cause(data, listed):
    (told,) = data("explain", *OGB, "--protocols", "ogb")["protocols"].values()
    assert told["value"] == pytest.approx(listed, abs=1e-6)
    assert told["causes"]["candidates"] == pytest.approx(max(told["causes"].values(), key=abs))


def test_a_split_without_negatives_is_refused(refused, listed):
    assert "train.pt: no head_neg in it" in refused("evaluate", *OGB, "--protocol", "ogb", "--split", "train")
