"""The house: files are chapters with one idea, rooms import downwards, and no imports go in a circle."""

from __future__ import annotations

import ast
import tokenize
from pathlib import Path

import grimp
import networkx as nx
import pytest

PACKAGE = Path(__file__).parents[2] / "kgeval"
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.name not in ("__init__.py", "__main__.py"))

LONGEST = 300
"""lines of a chapter, with docstrings and blank lines"""

SHORTEST = 20
"""lines of code of a chapter, unless all that it has is declarations"""


def name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def code_lines(path: Path) -> int:
    """Count the lines that are code: no blank ones, comments, docstrings or imports."""
    with tokenize.open(path) as file:
        lines = {
            line
            for token in tokenize.generate_tokens(file.readline)
            if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
            for line in range(token.start[0], token.end[0] + 1)
        }
    for node in ast.walk(tree(path)):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if text or isinstance(node, ast.Import | ast.ImportFrom):
            lines -= set(range(node.lineno, node.end_lineno + 1))
    return len(lines)


def declares(path: Path) -> bool:
    """Whether a file has no functions or classes of its own: data, types, and calls that declare things."""
    return not any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree(path).body)


def test_a_file_is_no_longer_than_a_chapter():
    lengths = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert not {file: length for file, length in lengths.items() if length > LONGEST}


def test_a_file_is_no_shorter_than_a_chapter():
    assert not {name(path): lines for path in FILES if (lines := code_lines(path)) < SHORTEST and not declares(path)}


@pytest.mark.parametrize("for_types_only", [False, True])
def test_no_circle_of_imports(for_types_only):
    modules = grimp.build_graph("kgeval", exclude_type_checking_imports=not for_types_only, cache_dir=None)
    imports = nx.DiGraph()
    for module in modules.modules:
        imports.add_edges_from((module, other) for other in modules.find_modules_directly_imported_by(module))
    assert not [sorted(circle) for circle in nx.strongly_connected_components(imports) if len(circle) > 1]


def test_every_file_says_its_idea_in_its_first_line():
    for path in PACKAGE.rglob("*.py"):
        docstring = ast.get_docstring(tree(path))
        assert docstring, path
        assert docstring.splitlines()[0].endswith((".", ":")), path
