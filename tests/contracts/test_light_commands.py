"""The help of a command comes at once: it imports no arrays, no tables, and nothing that computes."""

from __future__ import annotations

import subprocess
import sys

from kgeval.cli import COMMANDS

NOT_OURS = {"pykeen"}
"""the command line of PyKEEN, which imports PyKEEN"""

HEAVY = {
    *("numpy", "numba", "pandas", "pyarrow", "scipy", "sklearn", "torch", "pykeen"),
    *("kgeval.ranking.tasks.classification", "kgeval.analysis.comparison", "kgeval.models.checkpoints"),
}

SCRIPT = """
import sys
from kgeval.cli import main
for command in sys.argv[1:]:
    main([command, "--help"], standalone_mode=False)
print("loaded", *sys.modules)
"""


def test_help_imports_nothing_that_computes():
    light = sorted(COMMANDS.keys() - NOT_OURS)
    result = subprocess.run([sys.executable, "-c", SCRIPT, *light], capture_output=True, text=True, check=True)
    words, _, loaded = result.stdout.rpartition("loaded ")
    assert words.count("Usage: ") == len(light)
    assert not HEAVY & {*loaded.split()}
