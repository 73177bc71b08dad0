"""What kgeval imports is declared in pyproject.toml, or comes with what is declared; what is declared is imported."""

from __future__ import annotations

import ast
import re
import sys
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"jinja2": "Jinja2", "sklearn": "scikit-learn", "vl_convert": "vl-convert-python", "yaml": "PyYAML"}
"""by the name of their module, where that is another"""
WITH_ANOTHER = {"pydantic_core": "pydantic", "triton": "torch"}
"""modules whose versions another package chooses"""
BY_NAME = {"altair", "jinja2", "vl_convert"}
"""modules that ``kgeval.reports`` imports by a name in a string"""


def imported_modules() -> set[str]:
    """The first part of the name of each module that kgeval imports and does not bring."""
    modules = set(BY_NAME)
    for path in (ROOT / "kgeval").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules.add(node.module.split(".")[0])
    return modules - sys.stdlib_module_names - {"kgeval"}


def test_every_import_is_declared_and_every_declaration_imported():
    tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = chain(project["dependencies"], *project["optional-dependencies"].values())
    declared = {re.match(r"[\w-]+", requirement)[0] for requirement in requirements} - {"kgeval"}  # all extras
    needed = {WITH_ANOTHER.get(module, PACKAGES.get(module, module)) for module in imported_modules()}
    assert needed == declared
