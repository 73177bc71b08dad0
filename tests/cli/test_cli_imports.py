"""What ``kgeval evaluate`` of a checkpoint imports: no library that takes seconds, where nothing needs it."""

from __future__ import annotations

import subprocess
import sys

from kgeval import load_checkpoint, save_checkpoint

HEAVY = (
    *("torch", "pykeen", "sklearn", "scipy.stats", "scipy.optimize", "scipy.special", "matplotlib", "altair"),
    *("ray", "h5py"),
)
"""pandas is not among them: pyarrow itself imports it for any array that comes from numpy"""

COMMAND = """
import sys
from kgeval.cli import main

main(sys.argv[1:], standalone_mode=False)
print("IMPORTED", *sorted({*sys.modules} & {*%r}))
"""


def test_evaluate_imports_nothing_heavy(place):
    save_checkpoint(load_checkpoint("model", model="TransE", norm=1), "model.safetensors")
    command = [sys.executable, "-c", COMMAND % (HEAVY,), "evaluate", "model.safetensors", "--dataset", "graph"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "mrr" in done.stdout
    assert done.stdout.splitlines()[-1] == "IMPORTED"
