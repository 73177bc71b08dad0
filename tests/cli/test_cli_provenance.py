"""Every command says what its numbers are of, in JSON and in the files of a run, and notes with them."""

from __future__ import annotations

import json

import pytest

from kgeval import RankTable
from tests.cli.conftest import CONFIG, ENTITIES, RELATIONS, SPLITS, write_config, write_model, write_weighted

MODEL = ["model", "--dataset", "graph", "--option", "model=TransE", "--option", "norm=1"]
FULL = {
    "model": "TransE (model/arrays.npz)",
    "dataset": "graph",
    "split": "test",
    "triples": 6,
    "protocol": "standard",
    "filter": ["train", "valid", "test"],
    "candidates": "all 8 entities",
    "leaks": {"triples": 6, "repeated": 0, "swapped": 2},
}
SAMPLE = ["--set", "evaluation.corruption.kind=uniform", "--set", "evaluation.corruption.count=2"]


def stored(folder):
    return json.loads((folder / "metrics.json").read_text())


def test_an_evaluation(data, place):
    told = data("evaluate", *MODEL, "--out", "out")
    assert told["provenance"] == stored(place / "out")["provenance"] == FULL
    assert told["notes"] == stored(place / "out")["notes"]
    assert data("evaluate", *MODEL, "--split", "valid")["provenance"] == FULL | {
        "split": "valid",
        "triples": 4,
        "leaks": {"triples": 4, "repeated": 0, "swapped": 3},
    }
    raw = {"protocol": "bordes-raw", "filter": []}
    assert data("evaluate", *MODEL, "--protocol", "bordes-raw")["provenance"] == FULL | raw


def test_a_run_among_drawn_negatives_is_never_taken_for_a_full_one(data, place):
    full, told = data("run", "config.yaml", "--out", "full"), data("run", "config.yaml", "--out", "few", *SAMPLE)
    assert full["metrics"]["both"]["mrr"] < told["metrics"]["both"]["mrr"]
    drawn = FULL | {"candidates": "2 uniform (seed 0)"}
    table = RankTable.from_parquet(place / "few")
    for found in (told, stored(place / "few"), data("summarize", "few"), data("summarize", "few", "--by", "relation")):
        assert found["provenance"] == drawn == table.provenance.to_dict()
    assert data("inspect", "few")["provenance"] == drawn
    assert full["provenance"] == FULL


def test_the_notes_of_ranks_metrics_and_protocol_are_in_the_json(data, place):
    """Eight entities, of which a query cannot have eight others."""
    told = data("run", "config.yaml", "--out", "few", *SAMPLE, "--set", "evaluation.corruption.count=8")
    assert any("fewer than 8 possible negatives" in note for note in told["notes"])
    assert told["notes"] == stored(place / "few")["notes"] == data("summarize", "few")["notes"]
    write_model(place / "equal", entity=[[1.0] * 4] * 8)
    equal = data("evaluate", "equal", *MODEL[1:], "--protocol", "openke")
    (rule,) = equal["protocol"]["notes"]
    (note,) = [note for note in equal["notes"] if "answers tie" in note]
    assert rule.endswith("candidates. OpenKE counts no tie against the answer.")
    assert note.endswith("(optimistic). OpenKE counts no tie against the answer.")


def test_models_go_by_their_names_in_the_configuration(data, place):
    config = {"dataset": "./graph", "models": {"first": CONFIG["model"], "second": CONFIG["model"]}}
    write_config(place / "several.yaml", config)
    data("run", "several.yaml", "--out", "both")
    for name in ("first", "second"):
        assert stored(place / "both" / name)["provenance"] == FULL | {"model": name}
        assert data("summarize", f"both/{name}")["provenance"]["model"] == name


def test_several_models_have_a_column_for_each_metric_as_it_was_requested(done, place):
    names = ["mrr", "head.mrr", "tail.mrr"]
    content = {"dataset": "./graph", "models": {"a": CONFIG["model"], "b": CONFIG["model"]}, "metrics": names}
    write_config(place / "several.yaml", content)
    lines = [line.split() for line in done("run", "several.yaml", "--out", "both").splitlines()]
    assert ["model", *names] in lines
    for name in ("a", "b"):
        told = stored(place / "both" / name)["metrics"]
        expected = [f"{told[side]['mrr']:.6f}" for side in ("both", "head", "tail")]
        assert [name, *expected] in lines


def test_an_explanation_names_the_rules_of_each_protocol(data):
    told = data("explain", *MODEL, "--protocols", "bordes-raw,libkge")
    assert told["provenance"] == FULL
    rows = {name: row["provenance"] for name, row in told["protocols"].items()}
    assert rows["bordes-raw"] == FULL | {"protocol": "bordes-raw", "filter": []}
    assert rows["libkge"] == FULL | {"protocol": "libkge"}


@pytest.fixture
def negatives(place):
    for split in ("valid", "test"):
        rows = [f"{ENTITIES[h]}\t{RELATIONS[r]}\t{ENTITIES[h]}\n" for h, r, _ in SPLITS[split][:3]]
        (place / f"{split}_false.txt").write_text("".join(rows))
    return ["--valid-negatives", "valid_false.txt", "--test-negatives", "test_false.txt"]


def test_a_classification_names_its_negatives(data, place, negatives):
    told = data("classify", *MODEL, *negatives, "--out", "judged")
    named = {key: FULL[key] for key in ("model", "dataset", "split")}
    assert told["provenance"] == {**named, "triples": 9, "negatives": "3 of file test_false.txt"}
    assert told["provenance"] == stored(place / "judged")["provenance"] == data("summarize", "judged")["provenance"]
    assert told["notes"] == stored(place / "judged")["notes"] == data("summarize", "judged")["notes"]
    drawn = data("classify", *MODEL, "--corruption", "uniform:count=2,seed=5")["provenance"]
    false = drawn["triples"] - 6
    assert drawn["negatives"] == f"{false} generated: 2 uniform (seed 5) in place of each tail"


def test_predicted_confidences_name_their_candidates(data, place, negatives):
    write_weighted(place / "weighted")
    weighted = ["model", "--dataset", "weighted", *MODEL[3:]]
    ranked = {"model": FULL["model"], "dataset": "weighted", "split": "test", "triples": 6, "negatives": "none"}
    ranked |= {"filter": FULL["filter"], "candidates": FULL["candidates"]}
    weighted = ["evaluate", *weighted, "--task", "confidences"]
    told = data(*weighted, "--out", "confident")
    assert told["provenance"] == stored(place / "confident")["provenance"] == ranked
    assert data("summarize", "confident")["provenance"] == ranked
    assert data("summarize", "confident", "-m", "mrr")["provenance"] == FULL | {"dataset": "weighted"}
    baseline = RankTable.from_parquet(place / "confident/ranks-same-or-reversed.parquet")
    assert baseline.provenance.model == "same or reversed"
    told = data(*weighted, *(f"--set=task.negatives.{split}={split}_false.txt" for split in ("valid", "test")))[
        "provenance"
    ]
    assert (told["triples"], told["negatives"]) == (9, "3 of file test_false.txt")
