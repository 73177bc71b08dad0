"""What users write to extend kgeval, as the documentation shows it, passes pyright in strict mode."""

from __future__ import annotations

import doctest
import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kgeval

ROOT = Path(__file__).parents[2]
FOREIGN = ROOT / "tests/contracts/foreign"
EXTENDED = ["Baseline", "CorruptionGenerator", "Family", "Metric", "Protocol", "Reader", "Slice", "TiePolicy"]

OF_PAGE = """
import numpy as np
import kgeval
data = kgeval.load_dataset("nations")
E = R = np.zeros((14, 8))
"""
"""what the earlier examples of the page ``own-model.md`` define"""

SETTINGS = {
    "typeCheckingMode": "strict",
    "extraPaths": [str(ROOT), str(FOREIGN)],
    # What the examples do because they are examples: results are shown, and parts of modules are imported as a whole.
    **dict.fromkeys(["reportUnusedExpression", "reportUnusedImport", "reportWildcardImportFromLibrary"], False),
}


def examples(text: str) -> str:
    return "".join(example.source for example in doctest.DocTestParser().get_examples(text))


def section(page: str, title: str = "") -> dict[str, str]:
    """Split a page into the examples of its sections."""
    text = (ROOT / "docs/guides" / page).read_text(encoding="utf-8")
    parts = re.split(r"(?m)^#+ (.+)$", text)[1:]
    found = {name: examples(body) for name, body in zip(parts[::2], parts[1::2], strict=True)}
    return {name: code for name, code in found.items() if code and title in name}


def docstring(name: str) -> str:
    """The examples of a public class, with the names of its module, which doctest gives them."""
    described = getattr(kgeval, name)
    names = f"from {described.__module__} import *\nimport dataclasses, math\nimport numpy as np\n"
    return names + examples(inspect.getdoc(described) or "")


def documented() -> dict[str, str]:
    [vectors] = section("own-model.md", "Vectors").values()
    pages = section("add-your-own.md") | {"Vectors": OF_PAGE + vectors}
    return {re.sub(r"\W+", "_", name): code for name, code in pages.items()} | {
        name: docstring(name) for name in EXTENDED
    }


def problems(folder: Path) -> list[str]:
    """Run pyright on a folder; list the errors, each with its place."""
    (folder / "pyrightconfig.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    command = [shutil.which("pyright") or "", "--pythonpath", sys.executable, "--outputjson", "--project", str(folder)]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    found = json.loads(result.stdout)
    assert found["summary"]["filesAnalyzed"] == len([*folder.rglob("*.py")])
    return [
        f"{Path(it['file']).name}:{it['range']['start']['line'] + 1}: {it['message']} ({it.get('rule')})"
        for it in found["generalDiagnostics"]
    ]


pytestmark = pytest.mark.skipif(shutil.which("pyright") is None, reason="there is no pyright on the path")


def test_the_documented_extensions_have_no_problems(tmp_path):
    for name, code in documented().items():
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    assert problems(tmp_path) == []


def test_a_package_that_extends_kgeval_has_no_problems(tmp_path):
    shutil.copytree(FOREIGN / "kgeval_foreign", tmp_path / "kgeval_foreign")
    assert problems(tmp_path) == []
