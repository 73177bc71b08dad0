"""``kgeval audit``: the same findings as in Python, for people, as JSON and as a file."""

from __future__ import annotations

import json

import kgeval
from kgeval.analysis import audit
from tests.cli.conftest import invoke


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
