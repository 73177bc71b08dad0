"""Compiled functions without a place for their cache: everything works, and each process compiles for itself."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kgeval.base.compiling import is_cache_cold

EVALUATION = """
import numpy as np
import kgeval
from kgeval import Dataset, Triples, Vocabulary, evaluate
from kgeval.ranking.corruption import Uniform
from kgeval.models.families.bilinear import DistMult

rng = np.random.default_rng(0)
triples = np.unique(rng.integers(0, [14, 55, 14], (200, 3)), axis=0)
vocabularies = {"entities": Vocabulary.numbered(14, "entity"), "relations": Vocabulary.numbered(55, "relation")}
graph = Dataset.build("random", {"train": Triples(triples[::2]), "test": Triples(triples[1::2])}, **vocabularies)
model = DistMult(entity=rng.integers(-3, 3, (14, 4)) * 0.5, relation=rng.integers(-3, 3, (55, 4)) * 0.5)
table = evaluate(model, graph, filter=("train", "test"), corruption=Uniform(count=5), kernel=KERNEL)
print(kgeval.__file__)
print(table.column("greater").tolist(), table.column("tied").tolist())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="numba finds its cache elsewhere on Windows")
def test_without_a_place_for_a_cache_the_ranks_are_the_same(tmp_path, capsys):
    """Folders in whose place a file lies cannot be written to, even by root."""
    package = Path(__file__).parents[2] / "kgeval"
    copy = tmp_path / "install" / "kgeval"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("")
    a_file = str(copy / "__pycache__")
    nowhere = {"HOME": a_file, "XDG_CACHE_HOME": f"{a_file}/cache", "NUMBA_CACHE_DIR": ""}
    done = subprocess.run(
        [sys.executable, "-B", "-c", EVALUATION.replace("KERNEL", "'compiled'")],
        env=os.environ | nowhere | {"PYTHONPATH": str(copy.parent)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    where, ranks = done.stdout.splitlines()
    assert Path(where).is_relative_to(tmp_path)
    exec(EVALUATION.replace("KERNEL", "'reference'"), {})
    assert ranks == capsys.readouterr().out.splitlines()[1]


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_what_was_cut_short_is_compiled_anew(tmp_path, monkeypatch, ending):
    module = f"cut_{ending[1:]}"
    source = tmp_path / f"{module}.py"
    source.write_text(
        "from kgeval.base.compiling import njit\n\n\n@njit(cache=True)\ndef twice(x):\n    return 2 * x\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def loaded():
        sys.modules.pop(module, None)
        return importlib.import_module(module).twice

    assert loaded()(3) == 6
    (stored,) = (tmp_path / "__pycache__").glob(f"*{ending}")
    whole = stored.stat().st_size
    for length in (0, 1, whole // 2, whole - 1):
        os.truncate(stored, length)
        twice = loaded()
        assert (twice(3), sum(twice.stats.cache_hits.values())) == (6, 0)
    twice = loaded()
    assert (twice(3), sum(twice.stats.cache_hits.values())) == (6, 1)


def test_what_was_never_compiled_is_cold_and_then_no_more(tmp_path, monkeypatch):
    """As after an update: a source that differs from what was compiled of it is cold again."""
    source = tmp_path / "loops.py"
    source.write_text(
        "from kgeval.base.compiling import njit\n\n\n@njit(cache=True)\ndef twice(x):\n    return 2 * x\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    loops = importlib.import_module("loops")
    assert is_cache_cold([loops.twice])
    assert loops.twice(3) == 6
    assert not is_cache_cold([loops.twice])
    source.write_text(source.read_text().replace("2 * x", "x + x  # the same"))
    assert is_cache_cold([importlib.reload(loops).twice])
