"""The help of a command comes at once: it imports no arrays, no tables, and nothing that computes."""

from __future__ import annotations

import subprocess
import sys

from kgeval.cli import COMMANDS

HEAVY = {"answers", "classify", "evaluate", "explain", "inspect", "predict", "pykeen"}
"""commands with options of settings that know corruptions and devices, which need arrays; and PyKEEN's own"""

SCRIPT = """
import sys
from kgeval.cli import main
for command in sys.argv[1:]:
    main([command, "--help"], standalone_mode=False)
print("loaded", *sys.modules)
"""


def test_help_imports_nothing_that_computes():
    light = sorted(COMMANDS.keys() - HEAVY)
    result = subprocess.run([sys.executable, "-c", SCRIPT, *light], capture_output=True, text=True, check=True)
    words, _, loaded = result.stdout.rpartition("loaded ")
    assert words.count("Usage: ") == len(light)
    heavy = {"numpy", "pandas", "pyarrow", "scipy", "torch", "kgeval.tasks", "kgeval.analysis", "kgeval.checkpoints"}
    assert not heavy & {*loaded.split()}
