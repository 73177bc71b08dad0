"""``kgeval run``: configurations to run directories."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from kgeval import RankTable
from tests.cli.conftest import CONFIG, below_head, invoke, write_config, write_model

MODEL = CONFIG["model"]


def test_a_configuration_gives_a_run(done, data, place):
    done("run", "config.yaml", "--out", "new")
    assert data("summarize", "new") == json.loads((place / "new/metrics.json").read_text())


def test_the_folder_is_that_of_the_configuration(done, place):
    write_config(place / "other.yaml", {**CONFIG, "output": "here/it/is"})
    done("run", "other.yaml")
    assert (place / "here/it/is/ranks.parquet").is_file()


def test_the_folder_is_named_after_the_file_by_default(done, place):
    done("run", "config.yaml")
    assert (place / "runs/config/ranks.parquet").is_file()


def test_any_metric_can_be_configured(data, place):
    wanted = ["map", "ndcg@3", "z-mrr", "strat-mrr", "relation.hits@1", "random.mrr", "head.median"]
    wanted += ["ndcg-original2.5@3", "dcg-ln", "iprec@0.50", "map-capped@2"]
    write_config(place / "many.yaml", {**CONFIG, "metrics": wanted})
    found = data("run", "many.yaml", "--out", "new")["metrics"]
    named = {"map", "ndcg@3", "z-mrr", "strat.mrr", "relation.hits@1", "random.mrr"}
    assert set(found["both"]) == named | {"ndcg-original2.5@3", "dcg-ln", "iprec@0.50", "map-capped@2"}
    assert set(found["head"]) == {*found["both"], "median"}


def test_a_name_with_a_discount_is_the_same_everywhere(data, done, place):
    name = "ndcg-original2.5@3"
    write_config(place / "discount.yaml", {**CONFIG, "metrics": [name]})
    value = data("run", "discount.yaml", "--out", "new")["metrics"]["both"][name]
    assert data("summarize", "new", "-m", f"head.{name},{name}")["metrics"]["both"][name] == value
    assert name in done("summarize", "new", "--by", "relation", "-m", name, "--format", "csv").splitlines()[0]
    assert invoke("summarize", "new", "-m", name, "--fail-under", f"{name}={value / 2}").exit_code == 0
    assert invoke("summarize", "new", "-m", name, "--fail-under", f"both.{name}={value * 2}").exit_code == 1


def test_a_warning_tells_that_ties_decide(place):
    write_model(place / "flat", entity=np.zeros((8, 4)))
    write_config(place / "flat.yaml", {**CONFIG, "model": {**CONFIG["model"], "path": "flat"}})
    result = invoke("run", "flat.yaml", "--out", "new")
    assert "The tie policy alone moves the MRR from" in result.stderr
    assert ", ties: realistic\n" in result.stdout
    groups = invoke("summarize", "new", "--by", "relation")
    assert "groups the tie policy alone" in groups.stderr
    write_config(place / "by.yaml", {**CONFIG, "model": {**CONFIG["model"], "path": "flat"}, "by": "side"})
    assert invoke("run", "by.yaml", "--out", "by").stderr.count("tie policy") == 1  # once, not of the groups again
    diagnosis = json.loads((place / "new/metrics.json").read_text())["tie_diagnosis"]
    assert diagnosis["optimistic_mrr"] == 1
    assert diagnosis["tied"] == diagnosis["ranks"] == 12


@pytest.fixture
def several(place):
    write_config(
        place / "several.yaml", {**CONFIG, "model": None, "models": {"one": MODEL, "two": "saved.safetensors"}}
    )
    from kgeval import load_checkpoint, save_checkpoint

    save_checkpoint(load_checkpoint("model", model="TransE", norm=2), "saved.safetensors")
    return "several.yaml"


def test_several_models_give_a_folder_each_and_one_json_document(data, place, several):
    """It is the common table of their folder."""
    table = data("run", several, "--out", "new")
    assert table == json.loads((place / "new/metrics.json").read_text())
    assert set(table["models"]) == {"one", "two"}
    for name in ("one", "two"):
        assert RankTable.from_parquet(place / "new" / name / "ranks.parquet").num_triples == 6


def test_several_configurations_give_a_folder_each(done, place, several):
    done("run", "config.yaml", several, "--out", "new")
    assert (place / "new/config/ranks.parquet").is_file()
    assert (place / "new/several/one/ranks.parquet").is_file()


NO_FOLDERS = ["../escaped", "a/../../escaped", "HERE/escaped", "..", ".", "", "a/b", "a\0b", "a\nb"]

OF_KGEVAL = ["config.yaml", "manifest.json", "metrics.json", "Metrics.JSON", "report.html", "ranks.parquet"]


@pytest.mark.parametrize("name", [*NO_FOLDERS, *OF_KGEVAL, "metrics.json/0", ".kgeval.lock", ".kgeval.partial"])
def test_a_model_is_no_path(refused, place, name):
    """The name of a model is the name of its folder: it must stay inside the run, beside the files that are there."""
    models = {name.replace("HERE", str(place)): MODEL, "other": MODEL}
    write_config(place / "names.yaml", {"dataset": "./graph", "models": models})
    refused("run", "names.yaml", "--out", "deep/new")
    assert not (place / "deep").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("run", "config.yaml", "--out", "run"),
        ("evaluate", "model", "--dataset", "./graph", "--option", "model=TransE", "--option", "norm=1", "--out", "run"),
    ],
)
def test_the_same_command_takes_the_run_that_is_there(place, command):
    before = {path.name: path.read_bytes() for path in (place / "run").iterdir()}
    repeated = invoke(*command)
    assert repeated.exit_code == 0, repeated.output
    assert "Taken from the earlier run run: same configuration and inputs" in repeated.stderr
    assert "mrr" in repeated.stdout
    assert {path.name: path.read_bytes() for path in (place / "run").iterdir()} == before


def test_other_inputs_are_not_taken_for_the_run_that_is_there(refused, place):
    write_model(place / "other", entity=np.ones((8, 4)))
    shutil.copytree(place / "other", place / "model", dirs_exist_ok=True)
    assert "model/arrays.npz has changed" in refused("run", "config.yaml", "--out", "run")


def test_one_run_in_the_way_stops_all_models_before_the_work(refused, place, several):
    invoke("run", "config.yaml", "--out", "new/two")
    refused("run", several, "--out", "new")
    assert not (place / "new/one/ranks.parquet").exists()


# Several models that did not rank the same


@pytest.fixture
def smaller(place, several):
    """Two models, the second of which does not know the entity ant."""
    from kgeval import Vocabulary, save_checkpoint
    from kgeval.models.families.bilinear import DistMult
    from tests.cli.conftest import ENTITIES, RELATIONS

    model = DistMult(entity=np.ones((7, 2)), relation=np.ones((3, 2)))
    labels = {"entities": Vocabulary(ENTITIES[1:]), "relations": Vocabulary(RELATIONS, "relation")}
    save_checkpoint(model, "saved.safetensors", **labels)
    (place / "graph/test.txt").write_text("ant\teats\tbee\nbee\teats\tcat\ncat\tlikes\tdog\n")
    return several


def test_models_that_ranked_different_triples_are_not_compared_silently(place, smaller):
    result = invoke("run", smaller, "--out", "new", "--set", "evaluation.unseen=drop")
    assert result.exit_code == 0
    header, _, *rows = below_head(result.stdout)
    assert header.split()[:2] == ["model", "triples"]
    assert [row.split()[:2] for row in rows] == [["one", "3"], ["two", "2"]]
    assert (
        "these models were evaluated on different triples (one 3, two 2), so their metrics cannot be compared"
        in result.stderr
    )
    assert "Note: two: left out (unseen: drop): 1 test triple with an entity" in result.stderr
    manifests = [json.loads((place / "new" / name / "manifest.json").read_text()) for name in ("one", "two")]
    assert [manifest["ranked"]["triples"] for manifest in manifests] == [3, 2]


def test_models_that_ranked_the_same_triples_need_no_note(place, smaller):
    result = invoke("run", smaller, "--out", "new", "--set", "evaluation.unseen=worst")
    assert result.exit_code == 0
    assert "do not compare" not in result.stderr
    assert "triples" not in below_head(result.stdout)[0].split()


def test_models_that_judged_different_triples_are_shown_beside_their_own_baselines(place, smaller):
    task = "{kind: classification, unseen: drop, negatives: {kind: generated}}"
    result = invoke("run", smaller, "--out", "new", "--set", f"task={task}", "--set", "metrics=[accuracy]")
    assert result.exit_code == 0, result.stderr
    lines = [line for line in result.stdout.splitlines() if line.strip(" ─") and not line.endswith("accuracy")]
    heads, shown = lines[::4], [line.split("  ")[0] for line in lines]
    assert all("labelled test triples" in head for head in heads)
    assert [name for name in shown if name not in heads] == [
        *("one", "relation majority", "tail frequency"),
        *("two", "relation majority", "tail frequency"),
    ]
    assert "these models were evaluated on different triples (one " in result.stderr
    assert "unseen: worst" not in result.stderr


def test_a_configuration_that_fails_does_not_stop_the_next(place):
    """Each is run, and the exit code tells that one was not."""
    (place / "broken.safetensors").write_bytes(b"broken")
    broken = {**CONFIG, "model": "broken.safetensors"}
    write_config(place / "first.yaml", broken)
    write_config(place / "second.yaml", CONFIG)
    result = invoke("run", "first.yaml", "second.yaml", "--out", "new", "--json")
    assert result.exit_code == 1
    assert "first.yaml: " in result.stderr
    assert "broken.safetensors" in result.stderr
    content = json.loads(result.stdout)
    assert content == {"first.yaml": {}, "second.yaml": json.loads((place / "new/second/metrics.json").read_text())}
    assert (place / "new/second/ranks.parquet").is_file()
