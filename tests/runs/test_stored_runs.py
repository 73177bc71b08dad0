"""Runs that an earlier version wrote: ``data/`` has one of each kind, as version 0.1.0 left them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgeval.stored.stored_run import StoredRun
from tests.cli.conftest import invoke

DATA = Path(__file__).parent / "data"

RUNS = ("ranks/inverse", "ranks/popularity", "classification", "confidences")


def printed(*arguments):
    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def stored(name):
    return json.loads((DATA / name / "metrics.json").read_text())


def without_notes(content):
    """A result without its notes: the one on ties is made anew, in present words."""
    if not isinstance(content, dict):
        return content
    return {key: without_notes(value) for key, value in content.items() if key not in ("notes", "note_kinds")}


def test_summaries_are_those_that_were_written():
    """The groups of the ranks are slices, for which the dataset is read."""
    for run in RUNS:
        assert not StoredRun(DATA / run).faults
        assert without_notes(printed("summarize", DATA / run)) == without_notes(stored(run))
    assert without_notes(printed("summarize", DATA / "ranks")) == without_notes(stored("ranks"))


@pytest.mark.parametrize("option", [("--metric", "mrr"), ("--by", "relation", "--metric", "rmse")])
def test_confidences_have_ranks_and_groups(option):
    summary = printed("summarize", DATA / "confidences", *option)
    assert summary["metrics" if "mrr" in option else "groups"]


def test_models_are_compared():
    (pair,) = printed("compare", DATA / "ranks", "--metric", "mrr")["differences"]["pairs"]
    assert (pair["model"], pair["other"], pair["rows"]) == ("inverse", "popularity", 201)
    assert pair["difference"] == pytest.approx(0.5042258247750382 - 0.5566330844718265)
    by = printed("compare", DATA / "ranks", "--metric", "mrr", "--by", "cardinality")["differences"]["pairs"]
    assert len(by) == len(stored("ranks/inverse")["groups"])


def test_a_page_is_made_of_them(tmp_path):
    result = invoke("report", DATA / "ranks", "--out", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "page.html").read_text()
    assert all(text in page for text in ("popularity", "inverse", "0.55", "cardinality"))


def test_they_are_inspected():
    for run in RUNS:
        described = printed("inspect", DATA / run)
        assert described["complete"]
        assert described["metrics"] == stored(run)["metrics"]
    assert [*printed("inspect", DATA / "ranks")["models"]] == ["inverse", "popularity"]


def test_they_are_evaluated_again(tmp_path):
    printed("evaluate", DATA / "ranks/popularity", "--out", tmp_path / "again")
    again = json.loads((tmp_path / "again/metrics.json").read_text())
    assert again["metrics"] == stored("ranks/popularity")["metrics"]
