"""``kgeval list``, ``kgeval schema``, and the command line itself."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from kgeval.base.errors import MetricError
from kgeval.metrics.averages import AVERAGES
from kgeval.metrics.metric import Undefined, metrics
from kgeval.metrics.names import parse
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.metrics.ranks.ties import tie_policies
from tests.conftest import SHARED

CONFIGS = sorted((Path(__file__).resolve().parents[2] / "configs").glob("*.yaml"))

LISTS = ["metrics", "models", "baselines", "formats", "protocols", "corruptions", "slices", "datasets"]


@pytest.mark.parametrize("what", LISTS)
def test_everything_there_is_can_be_listed(data, done, what):
    listed = data("list", what)
    names = [row.get("name", row.get("kind")) for row in listed]
    assert len(names) == len(set(names)) > 1
    assert all(isinstance(cell, str) for row in listed for cell in row.values())
    assert all(name in done("list", what) for name in names[:3])


def test_a_format_is_listed_with_its_models_or_with_what_is_read(done, data):
    for row in data("list", "formats"):
        assert row["reading"].startswith("Read ")
    (torchkge,) = data("list", "formats", "torchkge")
    model = {
        "model": "TransE",
        "family": "TransE",
        "tensors": "entity = ent_emb.weight; relation = rel_emb.weight",
        "options": "model = TransE; dissimilarity_type = L1 or L2",
    }
    assert model in torchkge["models"]
    for line in (done("list", "formats", "torchkge"), done("list", "formats", "torchkge", "--format", "csv")):
        assert all(text in line for text in model.values())
    (trec,) = data("list", "formats", "trec")
    assert trec.keys() == {"name", "files", "reading"}
    assert trec["reading"] in " ".join(done("list", "formats", "trec").split())


def test_lists_and_descriptions_take_quiet(done):
    assert done("list", "protocols", "-q") == done("list", "protocols")
    assert done("inspect", "run", "--quiet") == done("inspect", "run")


def test_averages_and_tie_policies_are_listed_with_the_metrics_that_take_them(data):
    listed = {row["name"]: row for row in data("list", "metrics") if row["name"].endswith(".")}
    assert list(listed) == sorted(f"{name}." for name in (*AVERAGES, *tie_policies()))
    assert all(row["title"] and row["formula"] and row["source"] for row in listed.values())
    for average in AVERAGES:
        parse(f"{average}.mrr")
        if "lists" in listed[f"{average}."]["needs"]:
            parse(f"{average}.map")
        else:
            with pytest.raises(MetricError, match="one value for each query"):
                parse(f"{average}.map")


def test_what_has_no_expectation_over_ties_is_listed(data):
    """Those metrics, and no others, are undefined of tied ranks."""
    (said,) = (row["undefined"] for row in data("list", "metrics") if row["name"] == "expected.")
    tied = Ranks(np.array([0, 3]), np.array([1, 2]), np.array([9, 9]), ties="expected")
    undefined = set()
    for name, metric in metrics("ranks").items():
        try:
            metric(tied, k=3)
        except Undefined:
            undefined.add(name)
    assert undefined == set(said.partition(": ")[2].split(", "))


def test_a_list_is_the_same_in_every_process():
    """Sets of strings have another order in every process; what is printed must not."""
    code = "from kgeval.cli import main; main(['list', 'corruptions', '--json'])"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1


def schema(done):
    return json.loads(done("schema"))


def test_every_key_of_the_schema_is_described(done):
    described = schema(done)
    blocks = {"": described, **described["$defs"]}
    blocks |= {f"{name} or text": part for name, block in blocks.items() for part in block.get("anyOf", ())}
    keys = {(name, key): part for name, block in blocks.items() for key, part in block.get("properties", {}).items()}
    assert len(keys) > 40
    assert [key for key, part in keys.items() if not part.get("description")] == []


@pytest.mark.parametrize("value", [{"sides": "tail", "filter": "train"}, {"sides": ["tail"], "filter": ["train"]}])
def test_the_schema_allows_one_side_and_one_split(done, value):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate({"dataset": "umls", "model": "m", "evaluation": value, "metrics": "mrr"}, schema(done))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_the_schema_accepts_the_configurations_of_the_project(done, path):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(yaml.safe_load(path.read_text(encoding="utf-8")), schema(done))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_the_configurations_of_the_project_are_sound(path, tmp_path, monkeypatch):
    from kgeval.runs.config.load import load_configs

    monkeypatch.chdir(tmp_path)
    if "data/" in path.read_text(encoding="utf-8"):
        if not SHARED.is_dir():
            pytest.skip("needs the folder of real graphs and checkpoints beside the checkout")
        (tmp_path / "data").symlink_to(SHARED / "data")
    assert all(config.jobs for config in load_configs([path], (), ()).values())


def test_the_version_is_that_of_the_package(done):
    from kgeval import __version__

    assert done("--version").split()[-1] == __version__
    assert "Usage:" in done("list", "-h")


def test_a_fresh_process_says_one_line_and_gives_2(place):
    command = [sys.executable, "-m", "kgeval", "summarize", "nothing"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", "Error: no such file 'nothing'.\n")


@pytest.mark.parametrize("closed", ["", ">&-", "2>&-", ">&- 2>&-"], ids=["open", "stdout", "stderr", "both"])
def test_closed_streams_are_no_failure(place, closed):
    command = f"{shlex.quote(sys.executable)} -m kgeval summarize run {closed}"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    notes = json.loads((place / "run/manifest.json").read_text())["notes"]
    told = "" if "2>" in closed else "".join(f"Note: {note}\n" for note in notes)
    assert (result.returncode, result.stderr) == (0, told)


@pytest.mark.parametrize("name", ["hits@k", "hits", "Hits@10", "hits_at_{k}"])
def test_one_metric_is_shown_with_all_about_it(done, data, name):
    (entry,) = data("list", "metrics", name)
    assert (entry["name"], entry["source"]) == ("hits@k", "Bordes et al., 2013")
    assert all(value in done("list", "metrics", name) for value in entry.values())


MAKE_A_KERNEL = """
import sys
from kgeval.cli.display import watching
from kgeval.ranking.kernels import kernel

with watching("ranking", 1):
    kernel(sys.argv[1])
"""


def test_the_first_ranking_says_that_it_compiles(place, tmp_path):
    """With an empty cache it does, but not a second time; nor for the kernel ``reference``, which compiles nothing."""
    from tests.cli.conftest import invoke

    message, cache = "Compiling the counting loops", {"NUMBA_CACHE_DIR": str(tmp_path / "empty")}
    for kernel in ("auto", "compiled", "reference"):
        command = [sys.executable, "-c", MAKE_A_KERNEL, kernel]
        first = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | cache)
        assert (message in first.stderr) == (kernel != "reference")
    command = ["evaluate", "model", "--dataset", "graph/", "--option", "model=TransE", "--option", "norm=1"]
    command += ["--set", "evaluation.kernel=compiled"]
    invoke(*command)
    assert message not in invoke(*command).stderr


@pytest.mark.skipif(sys.platform != "linux", reason="devices have other numbers")
@pytest.mark.parametrize("further", ["", "--json"])
def test_a_full_disk_under_the_output_is_named(place, further):
    try:  # never a device of the machine
        os.mknod("full", 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        os.close(os.open("full", os.O_WRONLY))
    except PermissionError:
        pytest.skip("only root makes devices")
    command = f"{shlex.quote(sys.executable)} -m kgeval summarize run -q {further} > full"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (1, "Error: standard output: No space left on device.\n")


@pytest.mark.parametrize("variables", [{"HOME": "config.yaml/x", "PYSTOW_HOME": ""}, {"PYSTOW_HOME": "config.yaml/x"}])
def test_a_home_that_cannot_be_made_is_named_with_what_to_set(place, variables):
    environment = {name: value for name, value in {**os.environ, **variables}.items() if value}
    command = [sys.executable, "-m", "kgeval", "evaluate", "baseline:popularity", "--dataset", "wn18rr"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (result.returncode, result.stdout) == (2, "")
    assert "config.yaml/x" in result.stderr
    assert "Set the environment variable PYSTOW_HOME" in result.stderr
