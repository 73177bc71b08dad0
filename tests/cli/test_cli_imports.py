"""What ``kgeval evaluate`` of a checkpoint imports: no library that takes seconds, where nothing needs it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from kgeval import load_dataset, save_checkpoint
from kgeval.scorers.families.bilinear import DistMult

HEAVY = (
    "torch",
    "pykeen",
    "sklearn",
    "scipy.stats",
    "scipy.optimize",
    "scipy.special",
    "matplotlib",
    "altair",
    "ray",
    "h5py",
)
"""pandas is not among them: pyarrow itself imports it for any array that comes from numpy"""

COMMAND = """
import sys
from kgeval.cli import main

main(sys.argv[1:], standalone_mode=False)
print("IMPORTED", *sorted({*sys.modules} & {*%r}))
"""


def test_evaluate_imports_nothing_heavy(tmp_path):
    graph = tmp_path / "graph"
    graph.mkdir()
    rng = np.random.default_rng(0)
    for split in ("train", "test"):
        rows = [f"e{h}\tr{r}\te{t}\n" for h, r, t in rng.integers(0, [20, 3, 20], (60, 3))]
        (graph / f"{split}.txt").write_text("".join(dict.fromkeys(rows)))
    data = load_dataset(graph)
    model = DistMult(
        entity=rng.normal(size=(len(data.entities), 4)), relation=rng.normal(size=(len(data.relations), 4))
    )
    save_checkpoint(model, tmp_path / "model.safetensors", entities=data.entities, relations=data.relations)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            COMMAND % (HEAVY,),
            "evaluate",
            str(tmp_path / "model.safetensors"),
            "--dataset",
            str(graph),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "mrr" in done.stdout
    assert done.stdout.splitlines()[-1] == "IMPORTED"
