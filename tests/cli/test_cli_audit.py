"""``kgeval audit``: the same findings as in Python, for people, as JSON and as a file."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

import kgeval
from kgeval.analysis import audit
from tests.cli.conftest import invoke


def test_the_page_has_a_table_for_each_section_and_says_what_was_found(done):
    """In the graph, 3(3h + 1) + 5 = h (mod 8): who eats is liked by what it eats."""
    page = done("audit", "graph/")
    assert page.startswith("graph: 8 entities, 3 relations, triples: 14 train, 4 valid, 6 test, threshold 0.8\n\n")
    lines = page.splitlines()
    titles = [line.split()[0] for line, below in pairwise(lines) if below and set(below) == {"─"}]
    assert titles == ["relations", "triples", "degrees", "labels"]
    assert "reverse-duplicate relations      1" in page
    assert "Worst: eats and likes (8 of 8)." in page
    assert "(Akrami et al., 2020)" in page


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("grph",), "Did you mean 'graph'"),
        (("graph", "--threshold", "0"), "threshold: expected a share above 0 and at most 1, found 0.0."),
        (("graph", "--threshold", "nan"), "threshold: expected a share above 0 and at most 1, found nan."),
        (("graph", "--threshold", "some"), "Invalid value for '--threshold'"),
        (("graph", "--out", "config.yaml"), "'config.yaml' already exists. Choose another name, or add --force."),
        (("model",), "model"),
    ],
)
def test_what_is_wrong_is_said(refused, arguments, message):
    assert message in refused("audit", *arguments)


def test_a_file_is_replaced_if_that_is_wanted(done, place):
    (place / "audit.json").write_text("old")
    done("audit", "graph", "--out", "audit.json", "--force")
    assert json.loads((place / "audit.json").read_text(encoding="utf-8"))["dataset"] == "graph"
