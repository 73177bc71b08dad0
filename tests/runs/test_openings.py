"""Openings: a run reads every input file once, and once more for its SHA-256."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import yaml

COUNTING = """
import json, os, sys
from collections import Counter
from pathlib import Path

INPUTS = {"graph", "model.safetensors", "spare", "false"}
opened = Counter()

def count(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, os.PathLike)):
        path = os.path.relpath(os.fspath(arguments[0]))
        if Path(path).parts[0] in INPUTS:
            opened[path] += 1

from kgeval.models.checkpoints import read_checkpoint
from kgeval.data.labelled_triples import read_negatives
from kgeval.data.loading import load_dataset
from kgeval.runs.config.load import load_config
from kgeval.runs.runner import run

def read_each():
    graph = load_dataset("graph")
    for path in ("model.safetensors", "spare/other.safetensors"):
        read_checkpoint(Path(path), {}, dataset=graph)
    for path in ("false/valid.tsv", "false/test.tsv"):
        read_negatives(Path(path), graph.entities, graph.relations)

def work(config):
    sys.addaudithook(count)
    run(load_config(Path(config)), Path(config).with_suffix("")) if config else read_each()
    print(json.dumps(opened), flush=True)

for config in ("", "ranking.yaml", "labels.yaml"):
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0, config
    else:
        work(config)
        os._exit(0)
"""
"""how often each input file is opened by three works, each in a process of its own that inherits the imports alone"""

MODELS = {"one": "model.safetensors", "two": "spare/other.safetensors"}
NEGATIVES = {"valid": "false/valid.tsv", "test": "false/test.tsv"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_every_input_is_read_once_and_hashed_once(place):
    """A reader may look at the first line before the rest, so what one reading opens is counted too."""
    (place / "false").mkdir()
    for split in ("valid", "test"):
        (place / f"false/{split}.tsv").write_text("e0\teats\te1\ne3\tlikes\te4\n")
    models = {"dataset": "./graph", "models": MODELS}
    (place / "ranking.yaml").write_text(yaml.safe_dump(models))
    task = {"kind": "classification", "negatives": NEGATIVES}
    (place / "labels.yaml").write_text(yaml.safe_dump({**models, "task": task}))
    done = subprocess.run([sys.executable, "-c", COUNTING], capture_output=True, text=True, cwd=place, check=False)
    assert done.returncode == 0, done.stderr
    once, ranking, labels = map(json.loads, done.stdout.splitlines())
    # Once more for the SHA-256. Small files are also looked at where a path is checked: Git LFS has such pointers.
    looks = {path: 2 if path.endswith(".safetensors") else 1 for path in once}
    inputs = {path: count + 1 + looks[path] for path, count in once.items() if not path.startswith("false")}
    assert len(inputs) == 5
    assert ranking == inputs
    # The configuration looks at the first line of each file of negatives, so that a missing one is told with its line.
    negatives = {path: once[path] + 2 + 3 * looks[path] for path in NEGATIVES.values()}
    assert labels == inputs | negatives
