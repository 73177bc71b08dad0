"""The house: each name once, no circle of imports, no room too full to see at a glance."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import grimp
import networkx as nx
import pytest

PACKAGE = Path(__file__).parents[2] / "kgeval"
FILES = sorted(PACKAGE.rglob("*.py"))


def repeated(names: dict[str, list[Path]]) -> dict[str, list[str]]:
    return {name: [str(path.relative_to(PACKAGE)) for path in paths] for name, paths in names.items() if len(paths) > 1}


def test_no_module_name_stands_twice():
    modules = defaultdict(list)
    for path in FILES:
        if not path.name.startswith("__"):
            modules[path.stem].append(path)
    assert not repeated(modules)


def test_no_class_name_stands_twice():
    classes = defaultdict(list)
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(path)
    assert not repeated(classes)


@pytest.mark.parametrize("for_types_only", [False, True])
def test_no_circle_of_imports(for_types_only):
    modules = grimp.build_graph("kgeval", exclude_type_checking_imports=not for_types_only, cache_dir=None)
    imports = nx.DiGraph()
    for module in modules.modules:
        imports.add_edges_from((module, other) for other in modules.find_modules_directly_imported_by(module))
    assert not [sorted(circle) for circle in nx.strongly_connected_components(imports) if len(circle) > 1]


def test_every_file_says_its_idea_in_its_first_line():
    for path in FILES:
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        assert docstring, path
        assert docstring.splitlines()[0].endswith((".", ":")), path


def test_no_room_is_too_full():
    """The package itself holds the rooms and, loose, only what all of them stand on."""
    for room in {path.parent for path in FILES}:
        entries = [path for path in room.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()]
        assert len(entries) - 1 <= (28 if room == PACKAGE else 18), room
