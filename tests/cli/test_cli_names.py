"""``--names``: commands show what people call entities and relations beside their labels."""

from __future__ import annotations

import pytest

from tests.cli.conftest import invoke

MODEL = ("model", "--option", "model=TransE", "--option", "norm=1")


@pytest.fixture(autouse=True)
def names(place):
    (place / "names.tsv").write_text("eats\tis fed by\nant\tthe small one\n")
    (place / "strange.tsv").write_text("Q1\tUniverse\n")


def test_the_names_of_a_dataset_are_counted(data):
    described = data("inspect", "graph/", "--names", "names.tsv")
    assert described["names"] == {"entities": 1, "relations": 1}
    assert "1 of relation 'is fed by (eats)', 1 of relation 'likes'" in described["notes"][0]


@pytest.mark.parametrize("command", [["classify"], ["classify", "--json"]], ids=" ".join)
def test_notes_have_names(place, command):
    arguments = [*command, *MODEL, "--dataset", "graph/"]
    assert "is fed by" not in invoke(*arguments).output
    assert "is fed by (eats)" in invoke(*arguments, "--names", "names.tsv").output


def test_groups_of_a_stored_run_have_names(data, done):
    bare = data("summarize", "run", "--by", "relation")
    named = data("summarize", "run", "--by", "relation", "--names", "names.tsv")
    assert [group["key"]["relation"] for group in bare["groups"]] == ["eats", "fears", "likes"]
    assert [group["key"]["relation"] for group in named["groups"]] == ["is fed by (eats)", "fears", "likes"]
    assert [group["metrics"] for group in bare["groups"]] == [group["metrics"] for group in named["groups"]]
    assert "is fed by (eats)" in done("summarize", "run", "--by", "relation", "--names", "names.tsv")
    sides = data("summarize", "run", "--by", "head", "--by", "side", "--names", "names.tsv")
    assert {group["key"]["side"] for group in sides["groups"]} == {"head", "tail"}


def test_groups_of_a_classification_have_names(data, done):
    done("classify", *MODEL, "--dataset", "graph/", "--out", "judged")
    text = done("summarize", "judged", "--by", "relation", "--names", "names.tsv")
    assert "is fed by (eats)" in text


def test_a_configuration_names_files(place, done, data):
    config = "dataset: {path: graph, names: names.tsv}\nmodel: {path: model, options: {model: TransE, norm: 1}}\n"
    (place / "named.yaml").write_text(config)
    done("run", "named.yaml", "--out", "named")
    judged = invoke("run", "named.yaml", "--set", "task.kind=classification", "--out", "judged")
    assert "1 of relation 'is fed by (eats)'" in judged.stderr
    assert data("summarize", "named")["metrics"] == data("summarize", "run")["metrics"]
    done("run", "named/config.yaml", "--out", "again")
