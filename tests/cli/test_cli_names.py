"""``--names``: commands show what people call entities and relations beside their labels."""

from __future__ import annotations

import pytest

MODEL = ("model", "--option", "model=TransE", "--option", "norm=1")


@pytest.fixture(autouse=True)
def names(place):
    (place / "names.tsv").write_text("eats\tis fed by\nant\tthe small one\n")
    (place / "strange.tsv").write_text("Q1\tUniverse\n")


def test_the_names_of_a_dataset_are_counted(data):
    described = data("inspect", "graph/", "--names", "names.tsv")
    assert described["names"] == {"entities": 1, "relations": 1}
    assert "1 of is fed by (eats), 1 of likes" in described["notes"][0]


@pytest.mark.parametrize("command", [["evaluate"], ["explain", "--protocols", "libkge"], ["classify"]], ids=" ".join)
def test_notes_have_names(place, command):
    from tests.cli.conftest import invoke

    arguments = [*command, *MODEL, "--dataset", "graph/"]
    assert "is fed by" not in invoke(*arguments).stderr
    assert "1 of is fed by (eats)" in invoke(*arguments, "--names", "names.tsv").stderr


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
    assert any("1 of is fed by (eats)" in note for note in data("inspect", "named")["notes"])
    assert data("summarize", "named")["metrics"] == data("summarize", "run")["metrics"]
    done("run", "named/config.yaml", "--out", "again")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["evaluate", *MODEL, "--dataset", "graph/", "--names", "nams.tsv"],
            "no such file 'nams.tsv'. Nearby: 'names.tsv'",
        ),
        (
            ["evaluate", *MODEL, "--dataset", "graph/", "--names", "strange.tsv"],
            "no relation of dataset graph has a name there",
        ),
        (
            ["summarize", "run", "--by", "relation", "--names", "config.yaml"],
            "config.yaml, line 1: expected a label, a tab",
        ),
        (["inspect", "graph/", "--names", "strange.tsv"], "no relation of dataset graph has a name there"),
        (["inspect", "run", "--names", "names.tsv"], "--names: 'run' is a run; names are those of a dataset"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_names_that_cannot_be_read_are_refused(refused, arguments, message):
    assert message in refused(*arguments)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("nope", "unknown dataset layout 'nope'"),
        ("labels", "layout 'labels' is one of folders, and there is no folder 'nations'. Leave the layout out"),
    ],
)
def test_a_layout_beside_a_pykeen_name_is_refused_for_what_it_is(refused, layout, message):
    told = refused("evaluate", *MODEL, "--dataset", "nations", "--layout", layout)
    assert message in told
    assert "no such folder" not in told


def test_the_layout_of_pykeen_is_one_of_names(refused, data):
    told = refused("evaluate", *MODEL, "--dataset", "nations", "--layout", "pykeen")
    assert "layout" not in told  # the model, which is another graph's, is what does not fit
    assert "takes a PyKEEN name" in refused("run", "config.yaml", "--set", "dataset.layout=pykeen")
