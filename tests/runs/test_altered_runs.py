"""Runs that somebody altered: what is read is as the run wrote it, and a record has the types that a run writes."""

from __future__ import annotations

import copy
import json
import shutil
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kgeval
from kgeval.errors import InputError
from tests.cli.conftest import invoke

DATA = Path(__file__).parent / "data"

FILES = {
    "ranks": ("ranks/inverse", "ranks.parquet"),
    "labels": ("classification", "labels.parquet"),
    "ranks of confidences": ("confidences", "ranks.parquet"),
    "ranks of a baseline": ("confidences", "ranks-same-or-reversed.parquet"),
}


def without_greater(path):
    """The table with the ranks of a model that makes no mistake, or other scores."""
    table = pq.read_table(path)
    name = "greater" if "greater" in table.column_names else "score"
    zeros = pa.array([0] * len(table), table.schema.field(name).type)
    pq.write_table(table.set_column(table.column_names.index(name), name, zeros), path)


@pytest.mark.parametrize("kind", FILES)
def test_a_table_that_was_altered_is_refused_by_every_command_that_reads_it(tmp_path, kind):
    run, name = FILES[kind]
    shutil.copytree(DATA / run, tmp_path / "run")
    without_greater(tmp_path / "run" / name)
    commands = [("summarize",)]
    if run.startswith("ranks/"):
        shown = ("--kind", "leaderboard", "--metric", "mrr", "--out", tmp_path / "p.svg")
        commands += [("compare", DATA / "ranks/popularity"), ("report", "--out", tmp_path / "r.html"), ("plot", *shown)]
        assert invoke("summarize", tmp_path / "run" / name).exit_code == 0
    for command, *arguments in commands:
        result = invoke(command, tmp_path / "run", *arguments)
        assert result.exit_code == 2, (command, result.output)
        assert f"{name}' is not as the run wrote it: manifest.json has another SHA-256. Restore it" in result.stderr
    assert f"{name} is not as the run wrote it" in invoke("inspect", tmp_path / "run").stdout


def test_altered_metrics_are_refused_where_they_are_shown_and_told_elsewhere(tmp_path):
    shutil.copytree(DATA / "ranks/inverse", tmp_path / "run")
    metrics = tmp_path / "run/metrics.json"
    metrics.write_text(metrics.read_text().replace("0.5", "0.9"))
    assert "is not as the run wrote it" in invoke("inspect", tmp_path / "run").stderr
    shown = invoke("summarize", tmp_path / "run", "--json")
    assert (
        json.loads(shown.stdout)["metrics"] == json.loads((DATA / "ranks/inverse/metrics.json").read_text())["metrics"]
    )
    assert "changed since the run was written: metrics.json." in json.loads(shown.stdout)["notes"]


def test_a_comment_and_files_of_ones_own_are_fine(tmp_path):
    shutil.copytree(DATA / "ranks/inverse", tmp_path / "run")
    (tmp_path / "run/notes.txt").write_text("mine")
    assert invoke("summarize", tmp_path / "run").stderr == invoke("summarize", DATA / "ranks/inverse").stderr
    with (tmp_path / "run/config.yaml").open("a") as config:
        config.write("# the first try\n")
    said = invoke("summarize", tmp_path / "run")
    assert said.exit_code == 0
    assert "changed since the run was written: config.yaml." in said.stderr


# Records of other types

HALF, NESTED = "\ud800", json.loads("[" * 400 + "]" * 400)

VALUES = [None, True, -1, 0.5, 10**400, 1e999, "x", HALF, [], [1], ["x"], [{}], {}, {"x": {}}, {"x": -1}, NESTED]


def places(content, place=()):
    """The places of a record: every field, and what is in it."""
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in inside:
        yield (*place, key)
        yield from places(value, (*place, key))


def altered(content, place, value):
    content = copy.deepcopy(content)
    block = content
    for key in place[:-1]:
        block = block[key]
    block[place[-1]] = value
    return content


def record(run, name):
    content = json.loads((DATA / run / name).read_text())
    return content if "written" not in content else {**content, "written": {}}  # whose digests are of other files


@pytest.fixture
def run(tmp_path, request):
    shutil.copytree(DATA / request.param, tmp_path / "run")
    (tmp_path / "run/manifest.json").write_text(json.dumps(record(request.param, "manifest.json")))
    return tmp_path / "run"


@pytest.mark.parametrize("run", ["confidences", "ranks/inverse"], indirect=True)
@pytest.mark.parametrize("name", ["manifest.json", "metrics.json"])
def test_no_field_of_another_type_is_an_error_that_nobody_wrote(run, name, request):
    """Every field of a record replaced by a fourth of the values: it is described, or refused in one message."""
    content = record(request.node.callspec.params["run"], name)
    content = {
        **content,
        "groups": [],
        "unknown": 0,
        **({} if name == "metrics.json" else {"models": {}, "metrics": {}}),
    }
    refused = 0
    for number, place in enumerate(places(content)):
        for value in VALUES[number % 4 :: 4]:
            (run / name).write_text(json.dumps(altered(content, place, value)).replace("Infinity", "1e999"))
            result = invoke("inspect", run, "--format", ("text", "json")[number // 4 % 2])
            assert result.exit_code in {0, 2}, (place, value)
            assert (name in result.stderr) == (result.exit_code == 2)
            refused += result.exit_code == 2
    assert refused > 40


WRONG = {
    "versions: expected a block of keys, found []": ("versions", []),
    "model: expected a block of keys, found 'x'": ("model", "x"),
    "seconds.rank: expected at least 0.0, found -1": ("seconds", {"rank": -1}),
    "notes.0: expected text, found 3": ("notes", [3]),
    "dataset.triples.test: expected a whole number, found 'x'": ("dataset", {"triples": {"test": "x"}}),
    "written: '../x' is not the name of a file beside it": ("written", {"../x": "0"}),
}


@pytest.mark.parametrize("run", ["ranks/inverse"], indirect=True)
@pytest.mark.parametrize("message", WRONG)
def test_every_command_that_reads_a_record_names_the_field(run, message, tmp_path):
    name, value = WRONG[message]
    content = record("ranks/inverse", "manifest.json")
    (run / "manifest.json").write_text(json.dumps({**content, name: value}))
    commands = [
        ("inspect",),
        ("summarize",),
        ("compare", DATA / "ranks/popularity"),
        ("report", "--out", tmp_path / "r"),
    ]
    for command, *arguments in commands:
        result = invoke(command, run, *arguments)
        assert (result.exit_code, f"manifest.json' is damaged. {message}. Restore it" in result.stderr) == (2, True), (
            command
        )


@pytest.mark.parametrize("run", ["ranks/inverse"], indirect=True)
def test_a_page_is_made_or_refused_whatever_a_field_holds(run):
    pytest.importorskip("altair", reason="needs kgeval[report]")
    content = record("ranks/inverse", "manifest.json")
    accepted = 0
    for number, place in enumerate(places(content)):
        value = VALUES[number % len(VALUES)]
        if len(place) > 1 and number % 8:
            continue
        (run / "manifest.json").write_text(json.dumps(altered(content, place, value)).replace("Infinity", "1e999"))
        with suppress(InputError):
            assert kgeval.report(run).html.startswith("<!doctype html>")
            accepted += 1
    assert 0 < accepted < 12
