"""``kgeval pykeen`` and the import: the evaluator is registered, and an untested PyKEEN is warned of."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kgeval.pykeen import warn_of_untested


def test_pykeens_command_line_has_the_evaluator_and_trains_with_it(tmp_path):
    arguments = ["--dataset", "nations", "--evaluator", "kgeval", "--number-epochs", "1", "--device", "cpu", "--silent"]
    command = [sys.executable, "-m", "kgeval", "pykeen", "train", "distmult", *arguments]
    # PyKEEN fixes its choices when it is imported, so this needs a process in which it was not.
    done = subprocess.run([*command, "--output-directory", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"map"' in (tmp_path / "results.json").read_text()


@pytest.mark.parametrize("version", ["1.10.0", "1.12.0", "2.0.0", "unknown"])
def test_an_untested_pykeen_is_warned_of(version):
    with pytest.warns(UserWarning, match=f"this is {version}"):
        warn_of_untested(version)


def test_an_untested_pykeen_is_warned_of_before_it_is_used_and_then_used():
    code = (
        "import importlib.metadata as metadata, sys, warnings; metadata.version = lambda _: '1.99.0'\n"
        "loaded = []; warnings.showwarning = lambda told, *_: loaded.append((str(told), 'pykeen' in sys.modules))\n"
        "warnings.simplefilter('always')\n"
        "import kgeval.pykeen; from pykeen.evaluation import evaluator_resolver\n"
        "print([at for told, at in loaded if 'this is 1.99.0' in told], 'kgeval' in evaluator_resolver.lookup_dict)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[False]", "True"]
