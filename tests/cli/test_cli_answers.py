"""``kgeval answers``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kgeval import answers, load_checkpoint
from kgeval.analysis.answer_sets.answer_set_table import AnswerSetTable

ANSWERS = ["answers", "model", "--dataset", "graph/", "--option", "model=TransE", "--option", "norm=1"]


@pytest.fixture
def model(place):
    return load_checkpoint("model", model="TransE", norm=1)


def test_json_is_what_the_library_says(data, model):
    printed = data(*ANSWERS, "--coverage", 0.5, "--nonconformity", "gap", "--by", "side")
    found = answers(model, "graph/", coverage=0.5, nonconformity="gap")
    expected = {**found.to_dict(), "groups": [{"key": g.key, **g.to_dict()} for g in found.groups("side")]}
    assert printed == json.loads(json.dumps(expected))


def test_a_run_knows_its_model_and_dataset(data):
    of_run = data("answers", "run", "--coverage", 0.5, "--nonconformity", "softmax")
    of_checkpoint = data(*ANSWERS, "--coverage", 0.5, "--nonconformity", "softmax")
    for printed in (of_run, of_checkpoint):
        del printed["notes"]
    assert of_run == of_checkpoint
    assert data("answers", "run", "--filter", "none")["provenance"]["filter"] == []


def test_stored_ranks_are_enough_for_coverage_and_sizes(done, data):
    for split in ("valid", "test"):
        evaluate = ["evaluate", "model", "--dataset", "graph/", "--option", "model=TransE", "--option", "norm=1"]
        done(*evaluate, "--split", split, "--out", split)
    stored = data("answers", "test", "--valid", "valid", "--coverage", 0.5)
    scored = data(*ANSWERS, "--coverage", 0.5)
    assert any("smaller" in note for note in stored["notes"])
    assert (stored["coverage"], stored["limits"]) == (scored["coverage"], scored["limits"])


def test_the_sets_are_a_file(done, model):
    done(*ANSWERS, "--coverage", 0.5, "--per", "relation", "--out", "sets.parquet")
    written = AnswerSetTable.from_parquet("sets.parquet")
    assert written.data.equals(answers(model, "graph/", coverage=0.5, per="relation", list_sets=True).sets.data)


def test_a_run_whose_files_have_changed_is_refused(place, refused):
    labels = Path("graph/test.txt")
    text = labels.read_text()
    labels.write_text(text + "ant\teats\tant\n")
    assert "'graph/test.txt' has changed since it was ranked" in refused("answers", "run")
    labels.write_text(text)
    rng = np.random.default_rng(1)
    np.savez("model/arrays.npz", entity=rng.normal(size=(8, 4)), relation=rng.normal(size=(3, 4)))
    assert "'model/arrays.npz' has changed since it was ranked" in refused("answers", "run")
    Path("model/arrays.npz").unlink()
    assert "not there any more" in refused("answers", "run")


def test_a_run_of_a_baseline(done, data):
    done("evaluate", "baseline:popularity", "--dataset", "graph/", "--out", "counted")
    assert data("answers", "counted", "--coverage", 0.5)["provenance"]["model"] == "baseline popularity"
