"""The house: files are chapters with one idea, rooms import downwards, and no imports go in a circle."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import grimp
import networkx as nx

PACKAGE = Path(__file__).parents[2] / "kgeval"
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.name not in ("__init__.py", "__main__.py"))

SHORTEST, LONGEST = 25, 600
"""lines of a chapter, with docstrings and blank lines"""


def name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def declares(path: Path) -> bool:
    """Whether a file has no functions or classes of its own: data, types, and calls that declare things."""
    return not any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree(path).body)


def test_a_file_is_a_chapter():
    """It is neither a page nor a book; only a command, and a file that only declares things, may be a few lines."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert not {name(path): length for path, length in lengths.items() if length > LONGEST}
    chapters = [path for path in FILES if path.parent.name != "commands" and not declares(path)]
    assert not {name(path): lengths[path] for path in chapters if lengths[path] < SHORTEST}


def test_no_circle_of_imports():
    """For types two files may name each other: what takes a record need not be below the file that declares it."""
    modules = grimp.build_graph("kgeval", exclude_type_checking_imports=True, cache_dir=None)
    imports = nx.DiGraph()
    for module in modules.modules:
        imports.add_edges_from((module, other) for other in modules.find_modules_directly_imported_by(module))
    assert not [sorted(circle) for circle in nx.strongly_connected_components(imports) if len(circle) > 1]


def test_every_file_says_its_idea_in_its_first_line():
    for path in PACKAGE.rglob("*.py"):
        docstring = ast.get_docstring(tree(path))
        assert docstring, path
        assert docstring.splitlines()[0].endswith((".", ":")), path


def test_every_fault_of_the_mutations_can_be_made():
    root = PACKAGE.parent
    faults = runpy.run_path(str(root / "scripts/mutate"))["FAULT"].findall((root / "tests/mutations.txt").read_text())
    assert len(faults) >= 20
    assert {name for name, file, old, _ in faults if (root / file).read_text(encoding="utf-8").count(old) != 1} == set()
