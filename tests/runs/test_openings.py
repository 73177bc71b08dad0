"""Openings: a run reads every input file once, and once more for its SHA-256."""

from __future__ import annotations

import json
import os
import subprocess
import sys

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

sys.addaudithook(count)

if sys.argv[1:]:
    from kgeval.runs.config.load import load_config
    from kgeval.runs.runner import run

    run(load_config(Path(sys.argv[1])), Path(sys.argv[1]).with_suffix(""))
else:
    from kgeval.checkpoints import read_checkpoint
    from kgeval.data.labelled_triples import read_negatives
    from kgeval.data.loading import load_dataset

    graph = load_dataset("graph")
    for path in ("model.safetensors", "spare/other.safetensors"):
        read_checkpoint(Path(path), {}, dataset=graph)
    for path in ("false/valid.tsv", "false/test.tsv"):
        read_negatives(Path(path), graph.entities, graph.relations)
print(json.dumps(opened))
"""

MODELS = {"one": "model.safetensors", "two": "spare/other.safetensors"}
NEGATIVES = {"valid": "false/valid.tsv", "test": "false/test.tsv"}


def openings(place, *arguments):
    """How often each input file is opened by a process of its own."""
    command = [sys.executable, "-c", COUNTING, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, cwd=place, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_input_is_read_once_and_hashed_once(place):
    """A reader may look at the first line before the rest, so what one reading opens is counted too."""
    (place / "false").mkdir()
    for split in ("valid", "test"):
        (place / f"false/{split}.tsv").write_text("e0\teats\te1\ne3\tlikes\te4\n")
    ranking = {"dataset": "./graph", "models": MODELS}
    (place / "ranking.yaml").write_text(yaml.safe_dump(ranking))
    task = {"kind": "classification", "negatives": NEGATIVES}
    (place / "labels.yaml").write_text(yaml.safe_dump({**ranking, "task": task}))
    once = openings(place)
    # Once more for the SHA-256. Small files are also looked at where a path is checked: Git LFS has such pointers.
    looks = {path: 2 if path.endswith(".safetensors") else 1 for path in once}
    inputs = {path: count + 1 + looks[path] for path, count in once.items() if not path.startswith("false")}
    assert len(inputs) == 5
    assert openings(place, "ranking.yaml") == inputs
    # The configuration looks at the first line of each file of negatives, so that a missing one is told with its line.
    negatives = {path: once[path] + 2 + 3 * looks[path] for path in NEGATIVES.values()}
    assert openings(place, "labels.yaml") == inputs | negatives
