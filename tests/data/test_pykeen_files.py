"""PyKEEN's datasets that are there as files are read from them: what PyKEEN reads, without importing it or torch."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from pykeen.datasets import dataset_resolver

from kgeval import load_dataset
from kgeval.base.errors import DatasetError
from kgeval.data.layouts.pykeen import SHIPPED, UNPACKED, from_dataset

ODD = {
    "train": [
        "b\tlikes\ta",
        "NA\tlikes\t b ",
        "Å\tz\ta",
        "b\tlikes\ta",
        '"quoted\ttab"\tz\tb',
        "",
        "only\tz_inverse\ta",
    ],
    "valid": ["a\tlikes\tb", "unseen\tlikes\tb", "a\tunseen\tb", "b\tlikes\tonly"],
    "test": ["NA\tz\ta", "a\tz\tb", "a\tz\tb", "a\tz_inverse\tb"],
}
"""lines that PyKEEN reads in its own way: repeated, quoted, blank, inverse, or with labels that train lacks"""


def assert_same(found, expected):
    assert (found.name, found.id_source, found.notes) == (expected.name, "PyKEEN", expected.notes)
    assert [*found.splits] == [*expected.splits]
    assert [*found.entities] == [*expected.entities]
    assert [*found.relations] == [*expected.relations]
    for split, triples in expected.splits.items():
        assert np.array_equal(found.splits[split].ids, triples.ids)
    assert found.sha256() == expected.sha256()


@pytest.mark.parametrize("name", [*SHIPPED, "UMLS", "nations-dataset"])
def test_what_pykeen_ships_is_what_it_reads(name):
    key = dataset_resolver.normalize(name)
    assert_same(load_dataset(name), from_dataset(dataset_resolver.make(name), key))


@pytest.mark.parametrize("name", UNPACKED)
def test_what_pykeen_unpacked_is_what_it_reads(tmp_path, monkeypatch, caplog, name):
    for split, lines in ODD.items():
        path = tmp_path / "datasets" / name / UNPACKED[name].format(split)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.setenv("PYKEEN_HOME", str(tmp_path))
    found = load_dataset(name)
    assert "3 of 4 valid triples have a label that train lacks" in caplog.text
    assert_same(found, from_dataset(dataset_resolver.make(name, cache_root=str(tmp_path / "datasets")), name))
    path.write_bytes(b"\xff\n")
    with pytest.raises(DatasetError, match=f"PyKEEN could not load the dataset '{name}': .*not UTF-8"):
        load_dataset(name)


EVALUATION = """
import sys
from importlib.abc import MetaPathFinder
from kgeval.cli import main

class Blocked(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        assert name not in ("torch", "numba"), f"{name} is imported"

sys.meta_path.insert(0, Blocked())
main(sys.argv[1:], standalone_mode=False)
assert "pykeen" not in sys.modules
"""


@pytest.mark.parametrize("kind", ["pykeen", "safetensors"])
def test_an_evaluation_on_a_named_graph_imports_neither_torch_nor_pykeen(tmp_path, kind):
    """Nor the compiled loops, for so few ranks; the ranks are those of the loops."""
    import torch
    from pykeen.models import DistMult

    from kgeval import evaluate, load_checkpoint, save_checkpoint, summarize

    graph = load_dataset("nations")
    model = DistMult(triples_factory=dataset_resolver.make("nations").training, embedding_dim=8, random_seed=0)
    path = tmp_path / "trained_model.pkl"
    torch.save(model, path)
    if kind == "safetensors":
        save_checkpoint(load_checkpoint(path, dataset=graph), path := tmp_path / "model.safetensors")
    command = ["evaluate", str(path), "--dataset", "nations", "--json"]
    done = subprocess.run([sys.executable, "-c", EVALUATION, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loops = evaluate(load_checkpoint(path, dataset=graph), graph, kernel="compiled")
    expected = summarize(loops, ["mrr", "hits@1", "hits@3", "hits@10", "mr", "amri"])
    for side, values in json.loads(done.stdout)["metrics"].items():
        assert values == {
            name: len(loops) // (1 + (side != "both")) if name == "count" else expected[f"{side}.{name}"]
            for name in values
        }
