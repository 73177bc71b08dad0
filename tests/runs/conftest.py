"""A small graph and a model that needs no words, and configurations for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from kgeval import Vocabulary, save_checkpoint
from kgeval.models.families.bilinear import DistMult
from tests.data.folders import write

ENTITIES = [f"e{index}" for index in range(9)]
RELATIONS = ["eats", "likes"]
ROWS = [(h, r, (4 * h + 5 * r + 2) % 9) for h in range(9) for r in range(2)]
SPLITS = {"train": ROWS[:10], "valid": ROWS[10:13], "test": ROWS[13:]}


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """The working folder: ``graph/`` and ``model.safetensors``."""
    monkeypatch.chdir(tmp_path)
    spelled = {split: [(ENTITIES[h], RELATIONS[r], ENTITIES[t]) for h, r, t in rows] for split, rows in SPLITS.items()}
    write(tmp_path / "graph", spelled)
    rng = np.random.default_rng(0)
    model = DistMult(entity=rng.normal(size=(9, 4)), relation=rng.normal(size=(2, 4)))
    labels = {"entities": Vocabulary(ENTITIES), "relations": Vocabulary(RELATIONS, "relation")}
    save_checkpoint(model, "model.safetensors", **labels)
    save_checkpoint(DistMult(entity=model.entity[::-1], relation=model.relation), "spare/other.safetensors", **labels)
    return tmp_path


def table(folder):
    """Read the files that are the same, byte by byte, however the ranks were computed."""
    return {name: (folder / name).read_bytes() for name in ("ranks.parquet", "metrics.json")}


BASE = {"dataset": {"path": "graph"}, "model": "model.safetensors"}


@pytest.fixture
def config(place):
    """Write a configuration file; keys of the base may be replaced."""

    def write(content=None, **keys):
        path = place / "experiment.yaml"
        path.write_text(content if content is not None else yaml.safe_dump({**BASE, **keys}, sort_keys=False))
        return path

    return write
