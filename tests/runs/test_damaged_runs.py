"""Damaged runs: for each file of a run and each way to damage it, what each command does, alone and in a folder."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import yaml

from kgeval.stored.folders import Place
from kgeval.stored.stored_run import StoredRun
from tests.cli.conftest import invoke
from tests.contracts.frozen.commands import PARTS, spelled
from tests.data.folders import write

pytest.importorskip("altair")

REFUSED, LEFT_OUT, NOTED = "refused", "left out", "noted"

OTHER = "is not as the run wrote it: manifest.json has another SHA-256"

TABLE = {
    "gone": (REFUSED, "{table}' is missing. Restore it, or evaluate again with --force."),
    **dict.fromkeys(["empty", "cut", "altered", "another's", "link"], (REFUSED, "{table}' " + OTHER)),
    "folder": (REFUSED, "{table}' is a folder. Restore it, or evaluate again with --force."),
}

OUTCOMES = {
    "ranks.parquet": TABLE,
    "labels.parquet": TABLE,
    "manifest.json": {
        "gone": (LEFT_OUT, "manifest.json is missing"),
        **dict.fromkeys(["empty", "cut"], (REFUSED, "manifest.json' cannot be read")),
        **dict.fromkeys(["altered", "another's", "link"], (REFUSED, "{table}' " + OTHER)),
        "folder": (LEFT_OUT, "manifest.json is a folder"),
    },
    "metrics.json": {
        "gone": (NOTED, "metrics.json is missing"),
        **dict.fromkeys(["empty", "cut", "altered", "another's", "link"], (NOTED, "metrics.json")),
        "folder": (NOTED, "metrics.json is a folder"),
    },
    "config.yaml": {
        "gone": (NOTED, "config.yaml is missing"),
        **dict.fromkeys(["empty", "cut", "folder"], (REFUSED, "config.yaml: not the configuration of a run")),
        **dict.fromkeys(["altered", "another's", "link"], (NOTED, "config.yaml")),
    },
}
"""by file and damage: whether a folder with such a run is refused, shown without it, or shown with a note, and words"""

STATES = {
    ("gone", "manifest.json"): "unfinished",
    ("folder", "manifest.json"): "unfinished",
    ("empty", "manifest.json"): "damaged",
    ("cut", "manifest.json"): "damaged",
    **{(damage, name): "damaged" for damage in ("gone", "folder") for name in OUTCOMES if name != "manifest.json"},
}
"""the states that are not "altered" """


def damage(file, how, other):
    content = file.read_bytes()
    if how in ("gone", "folder", "link"):
        file.unlink()
    match how:
        case "empty":
            file.write_bytes(b"")
        case "cut":
            file.write_bytes(content[:5])
        case "altered":
            changed = re.sub(rb'(\.parquet": ".{62})..', rb"\1zz", content)  # the SHA-256 that a manifest has
            file.write_bytes(changed if changed != content else content + b"\n")
        case "another's":
            shutil.copy(other / file.name, file)
        case "folder":
            file.mkdir()
        case "link":
            file.symlink_to((other / file.name).resolve())


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two runs of ranks, and two of labels, each two in a folder; the working directory is where they are."""
    place = tmp_path_factory.mktemp("damaged")
    write(place / "graph", {split: spelled(rows) for split, rows in PARTS.items()})
    models = {"a": {"baseline": "popularity"}, "b": {"baseline": "inverse"}}
    (place / "grid.yaml").write_text(yaml.safe_dump({"dataset": "./graph", "models": models}))
    before = Path.cwd()
    os.chdir(place)
    assert invoke("run", "grid.yaml", "--out", "ranks").exit_code == 0
    for name, baseline in {"a": "types", "b": "popularity"}.items():
        out = ("--out", f"labels/{name}")
        assert invoke("classify", f"baseline:{baseline}", "--dataset", "graph", *out).exit_code == 0
    yield place
    os.chdir(before)


def commands(kind, folder, run):
    """Each command that takes stored runs, with what it reads: a folder of runs, or one run."""
    picture = ("--kind", "leaderboard" if kind == "ranks" else "roc", "--out", "p.svg", "--force")
    yield from (("summarize", folder), ("compare", folder), ("plot", folder, *picture))
    yield from (("report", folder, "--out", "p.html", "--force"), ("summarize", run))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("ranks", name) for name in OUTCOMES if name[0] != "l"),
        *(("labels", name) for name in OUTCOMES if name[0] != "r"),
    ],
)
def test_what_each_command_does(folders, kind, name):
    for how, (outcome, sentence) in OUTCOMES[name].items():
        shutil.rmtree("w", ignore_errors=True)
        shutil.copytree(kind, "w")
        damage(folders / "w/b" / name, how, folders / "w/a")
        words = sentence.format(table=f"{kind}.parquet")
        for command in commands(kind, "w", "w/b"):
            result = invoke(*command)
            said, alone = f"{name} {how}: {command}: {result.output}", command[1] == "w/b"
            assert result.exit_code == (2 if outcome == REFUSED or (outcome == LEFT_OUT and alone) else 0), said
            page = (folders / "p.html").read_text() if command[0] == "report" and not result.exit_code else ""
            expected = {REFUSED: words, LEFT_OUT: f"left out of 'w': b ({words})", NOTED: f"written: {words}"}[outcome]
            if outcome != LEFT_OUT or not alone:
                assert expected in (page.replace("&#39;", "'").replace("\\u0027", "'") or result.output), said
        shown = json.loads(invoke("inspect", "w", "--json").stdout)["models"]
        state = STATES.get((how, name), "altered")
        assert (shown["a"]["state"], shown["b"]["state"]) == ("finished", state), (name, how)
        is_checked = name not in ("manifest.json", "metrics.json") or (name == "manifest.json" and how == "altered")
        assert bool(shown["b"]["metrics"]) == is_checked, (name, how)


@pytest.mark.parametrize("seed", [[1], "x", None, {"a": 1}, 1.5, True], ids=str)
def test_a_seed_that_is_none_is_refused_by_all_alike(folders, seed):
    shutil.rmtree("w", ignore_errors=True)
    shutil.copytree("ranks", "w")
    with (folders / "w/b/config.yaml").open("a") as config:
        config.write(f"seed: {json.dumps(seed)}\n")
    for command in commands("ranks", "w", "w/b"):
        result = invoke(*command)
        assert (result.exit_code, "seed: " in result.stderr) == (2, True), (command, result.output)
        assert "w/b/config.yaml" in result.stderr


def test_a_run_of_a_newer_version_is_named_and_not_read(folders):
    shutil.rmtree("w", ignore_errors=True)
    shutil.copytree("ranks", "w")
    manifest = folders / "w/b/manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"schema": 2}))
    for command in [*commands("ranks", "w", "w/b"), ("inspect", "w/b")]:
        assert "'w/b/manifest.json': a newer version of kgeval wrote this run." in invoke(*command).stderr
    assert json.loads(invoke("inspect", "w", "--json").stdout)["models"]["b"]["state"] == "newer"


def test_a_run_without_its_table_is_not_taken_for_an_interrupted_one(folders):
    shutil.rmtree("w", ignore_errors=True)
    shutil.copytree("ranks/b", "w")
    (folders / "w/ranks.parquet").replace(folders / "w/predictions.parquet")
    assert "'w/ranks.parquet' is missing. Restore it, or evaluate again" in invoke("summarize", "w").stderr


def test_who_goes_on_or_merges_is_told_the_same(folders):
    shutil.rmtree("w", ignore_errors=True)
    shutil.copytree("ranks", "w")
    (folders / "w/b/ranks.parquet").unlink()
    assert "already holds a different run: ranks.parquet is missing." in invoke("run", "grid.yaml", "--out", "w").stderr
    assert "'w/b/ranks.parquet' is missing." in invoke("merge", "w").stderr
    (folders / "w/b/manifest.json").unlink()
    assert "holds no shards; left out of 'w': b (its folder is missing)." not in invoke("merge", "w").stderr
    assert "holds no shards; left out of 'w': b (manifest.json is missing)." in invoke("merge", "w").stderr


@pytest.mark.parametrize("command", ["predict", "evaluate", "answers"])
def test_a_model_that_is_read_from_a_changed_run_is_noted(folders, command):
    shutil.rmtree("w", ignore_errors=True)
    shutil.copytree("ranks/b", "w")
    with (folders / "w/metrics.json").open("a") as metrics:
        metrics.write("\n")
    assert "Note: 'w' changed since the run was written: metrics.json." in invoke(command, "w").stderr


def test_runs_are_found_at_any_depth_and_links_in_a_circle_end(folders):
    shutil.rmtree("deep", ignore_errors=True)
    inner = folders / "deep/1/2/3/4/5"
    shutil.copytree("ranks", inner)
    (inner / "again").symlink_to(folders / "deep")
    (inner / "self").symlink_to(inner)
    assert [*Place(folders / "deep").runs] == ["1/2/3/4/5/a", "1/2/3/4/5/b"]
    assert invoke("compare", "deep", "-m", "mrr").exit_code == 0


def test_every_state_has_a_reason_but_for_the_finished_one(folders):
    shutil.rmtree("w", ignore_errors=True)
    shutil.copytree("ranks", "w")
    assert StoredRun(folders / "w/a").state == ("finished", "")
    assert StoredRun(folders / "w/nothing").state == ("unfinished", "its folder is missing")


@pytest.mark.parametrize("rest", [(), ("metrics.json",), ("config.yaml",)], ids=str)
def test_a_run_without_a_table_and_a_manifest_is_named_nevertheless(folders, rest):
    """Two files of a run are a run; where one of them is left, it may be another program's."""
    shutil.rmtree("w", ignore_errors=True)
    shutil.copytree("ranks", "w")
    for name in ("ranks.parquet", "manifest.json", *rest):
        (folders / "w/b" / name).unlink()
    (folders / "w/metrics.json").unlink()
    for command in commands("ranks", "w", "w/a"):
        result = invoke(*command)
        named = "w/a" in command or bool(rest) or "left out of 'w': b (manifest.json is missing)" in result.stderr
        assert (result.exit_code, named) == (0, True), command


@pytest.mark.parametrize("manifest", ["{}", '{"schema": 1}'])
def test_a_table_of_which_no_manifest_says_anything_is_refused(folders, manifest):
    shutil.rmtree("w", ignore_errors=True)
    shutil.copytree("ranks", "w")
    (folders / "w/b/manifest.json").write_text(manifest)
    for command in commands("ranks", "w", "w/b"):
        assert f"'w/b/ranks.parquet' {OTHER}" in invoke(*command).stderr, command


def test_a_folder_in_which_no_run_is_finished_is_refused_with_the_reasons(folders):
    shutil.rmtree("w", ignore_errors=True)
    shutil.copytree("ranks", "w")
    for name in "ab":
        (folders / f"w/{name}/manifest.json").unlink()
    told = "'w' holds no finished run. left out of 'w': a, b (manifest.json is missing)."
    for command in commands("ranks", "w", "w"):
        result = invoke(*command)
        assert (result.exit_code, told in result.stderr) == (2, True), command
    shown = json.loads(invoke("inspect", "w", "--json").stdout)
    assert {model["state"] for model in shown["models"].values()} == {"unfinished"}


@pytest.mark.parametrize("arguments", [("--same",), ("--reference", "b"), ("--across-datasets",)], ids=str)
def test_what_is_left_out_is_said_before_the_error_that_it_explains(folders, arguments):
    shutil.rmtree("w", ignore_errors=True)
    shutil.copytree("ranks", "w")
    (folders / "w/b/manifest.json").unlink()
    result = invoke("compare", "w", *arguments)
    assert result.exit_code == 2
    assert "Note: left out of 'w': b (manifest.json is missing)." in result.stderr


def test_a_run_that_is_finished_counts_whatever_the_common_table_says(folders):
    shutil.rmtree("w", ignore_errors=True)
    shutil.copytree("ranks", "w")
    table = json.loads((folders / "w/metrics.json").read_text())
    (folders / "w/metrics.json").write_text(json.dumps({**table, "models": {}, "failed": {"b": "no", "c": "broken"}}))
    place = Place(folders / "w")
    assert (sorted(place.runs), place.failed) == (["a", "b"], {"c": "broken"})
    assert "left out of 'w': c (broken)" in invoke("summarize", "w").stderr


def test_links_lead_to_no_run_twice_and_to_none_outside(folders):
    shutil.rmtree("w", ignore_errors=True)
    shutil.copytree("ranks", "w/in")
    (folders / "w/loop").symlink_to("loop")
    (folders / "w/up").symlink_to("..")
    (folders / "w/one").mkdir()
    (folders / "w/one/again").symlink_to("../in/a")
    assert len(Place(folders / "w").runs) == 2
    for command in (("summarize", "w"), ("compare", "w/in", "w/loop"), ("compare", "w")):
        result = invoke(*command)
        assert result.exit_code == (2 if "w/loop" in command else 0)
        assert not result.stderr or result.stderr.startswith(("Note: ", "Error: no such file 'w/loop'."))
