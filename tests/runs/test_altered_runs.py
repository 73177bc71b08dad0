"""Runs that somebody altered: what is read is as the run wrote it, and a record has the types that a run writes."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from contextlib import nullcontext, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kgeval
from kgeval.base.errors import InputError, KgevalError
from kgeval.base.progress import unreported
from kgeval.runs.config.load import load_config
from kgeval.runs.runner import run
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
    assert f"changed since the run was written: {name}" in invoke("inspect", tmp_path / "run").stdout


def test_altered_metrics_are_refused_where_they_are_shown_and_told_elsewhere(tmp_path):
    shutil.copytree(DATA / "ranks/inverse", tmp_path / "run")
    metrics = tmp_path / "run/metrics.json"
    metrics.write_text(metrics.read_text().replace("0.5", "0.9"))
    assert "is not as the run wrote it" in invoke("inspect", tmp_path / "run").stderr
    shown = invoke("summarize", tmp_path / "run", "--json")
    assert (
        json.loads(shown.stdout)["metrics"] == json.loads((DATA / "ranks/inverse/metrics.json").read_text())["metrics"]
    )
    note = f"'{tmp_path / 'run'}' changed since the run was written: metrics.json."
    assert note in json.loads(shown.stdout)["notes"]


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
def stored(tmp_path, request):
    shutil.copytree(DATA / request.param, tmp_path / "run")
    (tmp_path / "run/manifest.json").write_text(json.dumps(record(request.param, "manifest.json")))
    return tmp_path / "run"


@pytest.mark.parametrize("stored", ["confidences", "ranks/inverse"], indirect=True)
@pytest.mark.parametrize("name", ["manifest.json", "metrics.json"])
def test_no_field_of_another_type_is_an_error_that_nobody_wrote(stored, name, request):
    """Every field of a record replaced by a fourth of the values: it is described, or refused in one message."""
    content = record(request.node.callspec.params["stored"], name)
    content = {
        **content,
        "groups": [],
        "unknown": 0,
        **({} if name == "metrics.json" else {"models": {}, "metrics": {}}),
    }
    refused = 0
    for number, place in enumerate(places(content)):
        for value in VALUES[number % 4 :: 4]:
            (stored / name).write_text(json.dumps(altered(content, place, value)).replace("Infinity", "1e999"))
            result = invoke("inspect", stored, "--format", ("text", "json")[number // 4 % 2])
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


@pytest.mark.parametrize("stored", ["ranks/inverse"], indirect=True)
@pytest.mark.parametrize("message", WRONG)
def test_every_command_that_reads_a_record_names_the_field(stored, message, tmp_path):
    name, value = WRONG[message]
    content = record("ranks/inverse", "manifest.json")
    (stored / "manifest.json").write_text(json.dumps({**content, name: value}))
    commands = [
        ("inspect",),
        ("summarize",),
        ("compare", DATA / "ranks/popularity"),
        ("report", "--out", tmp_path / "r"),
    ]
    for command, *arguments in commands:
        result = invoke(command, stored, *arguments)
        assert (result.exit_code, f"manifest.json' is damaged. {message}. Restore it" in result.stderr) == (2, True), (
            command
        )


@pytest.mark.parametrize("stored", ["ranks/inverse"], indirect=True)
def test_a_page_is_made_or_refused_whatever_a_field_holds(stored):
    pytest.importorskip("altair", reason="needs kgeval[report]")
    content = record("ranks/inverse", "manifest.json")
    accepted = 0
    for number, place in enumerate(places(content)):
        value = VALUES[number % len(VALUES)]
        if len(place) > 1 and number % 8:
            continue
        (stored / "manifest.json").write_text(json.dumps(altered(content, place, value)).replace("Infinity", "1e999"))
        with suppress(InputError):
            assert kgeval.report(stored).html.startswith("<!doctype html>")
            accepted += 1
    assert 0 < accepted < 12


# Inputs that change while they are read and ranked


def replaced(path):
    """Replace a file by one that gives other ranks, as ``save_checkpoint`` does."""
    shutil.copy("spare/other.safetensors", "new")
    Path("new").replace(path)


def overwritten(path):
    path.write_bytes(Path("spare/other.safetensors").read_bytes())


def with_one_line_less(path):
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


def when(step, change, path):
    """Let a file change when a step of a run begins; steps are what the display of progress shows."""
    begun = []

    def watch(name, _):
        if name == step:
            begun.append(change(path))
        return nullcontext(unreported)

    return watch


@pytest.mark.parametrize("models", [{}, {"model": None, "models": {"a": "model.safetensors"}}])
def test_a_checkpoint_that_is_replaced_while_it_is_ranked_is_another_input(config, place, models):
    """The digest is that of the file that was ranked, and the same command finds another one."""
    path, step = place / "model.safetensors", "a" if models else "ranking"
    before, settings = hashlib.sha256(path.read_bytes()).hexdigest(), load_config(config(**models))
    run(settings, place / "whole")
    (outcome,) = run(settings, place / "run", watch=when(step, replaced, path))
    folder = place / "run" / outcome.name
    assert (folder / "ranks.parquet").read_bytes() == (place / "whole" / outcome.name / "ranks.parquet").read_bytes()
    assert json.loads((folder / "manifest.json").read_text())["sha256"]["model.safetensors"] == before
    with pytest.raises(InputError, match=r"a different run: model\.safetensors has changed"):
        run(settings, place / "run")


CHANGING = {
    "loading model": (with_one_line_less, "graph/train.txt", "changed while it was read"),
    "ranking": (overwritten, "model.safetensors", "changed while it was evaluated"),
}


@pytest.mark.parametrize("step", CHANGING)
def test_what_changes_before_it_is_hashed_or_under_its_ranking_is_refused(config, place, step):
    """A dataset was read before its model; a file that is overwritten in place may be mapped."""
    change, name, message = CHANGING[step]
    with pytest.raises(KgevalError, match=rf"{name}: it {message}. Evaluate it again, or a copy"):
        run(load_config(config()), place / "run", watch=when(step, change, place / name))
    assert not (place / "run").exists()
    run(load_config(config()), place / "run")
