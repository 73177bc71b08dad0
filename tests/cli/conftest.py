"""A folder with a small graph, a model and a configuration, and the command line to work on them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from tests.contracts.frozen.commands import ENTITIES, RELATIONS, spelled
from tests.contracts.frozen.commands import PARTS as SPLITS
from tests.data.folders import write


def write_vectors(folder, entities, relations, **arrays):
    """Write arrays, and the labels of their rows."""
    write(folder, {"entities": enumerate(entities), "relations": enumerate(relations)}, ending=".tsv")
    np.savez(folder / "arrays.npz", **arrays)


def write_model(folder, **changes):
    """Write a TransE of the graph; its arrays may be replaced."""
    rng = np.random.default_rng(0)
    arrays = {"entity": rng.normal(size=(8, 4)), "relation": rng.normal(size=(3, 4))}
    write_vectors(folder, ENTITIES, RELATIONS, **{**arrays, **changes})


def write_weighted(folder):
    """Write the same graph, with confidences."""
    for split, rows in SPLITS.items():
        confidences = [((h + t) % 5) / 4 for h, _, t in rows]
        weighted = [(*triple, said) for triple, said in zip(spelled(rows), confidences, strict=True)]
        write(folder, {split: weighted}, ending=".tsv")


CONFIG = {"dataset": "./graph", "model": {"path": "model", "options": {"model": "TransE", "norm": 1}}}


def write_config(path, content):
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """The folder as every test finds it, with a finished run in it."""
    folder = tmp_path_factory.mktemp("template")
    write(folder / "graph", {split: spelled(rows) for split, rows in SPLITS.items()})
    write_model(folder / "model")
    write_config(folder / "config.yaml", CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        invoke("run", "config.yaml", "--out", "run")
    return folder


@pytest.fixture
def place(template, tmp_path, monkeypatch) -> Path:
    """A fresh copy of the folder, which the command line runs in."""
    shutil.copytree(template, tmp_path / "place")
    monkeypatch.chdir(tmp_path / "place")
    return tmp_path / "place"


def invoke(*arguments):
    """Call the command line, letting out whatever exception it lets out."""
    from kgeval.cli import main

    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert "Traceback" not in result.output
    return result


def below_head(printed):
    """The lines of a table, without the head that tells what it is of."""
    head, blank, table = printed.partition("\n\n")
    assert head
    assert blank
    return table.splitlines()


@pytest.fixture
def done(place):
    """Call the command line, expect success, and return what it printed."""

    def call(*arguments):
        result = invoke(*arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    return call


@pytest.fixture
def data(done):
    """Call the command line with ``--json``, and return what it printed, which is JSON and nothing else."""

    def call(*arguments):
        def refuse(constant):
            raise AssertionError(f"{constant} is not JSON")

        return json.loads(done(*arguments, "--json"), parse_constant=refuse)

    return call


@pytest.fixture
def refused(place):
    """Call the command line, expect one clear message and nothing else, and return it."""

    def call(*arguments, code=2):
        result = invoke(*arguments)
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        assert "Error: " in result.stderr
        return result.stderr

    return call
