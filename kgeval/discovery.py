"""Registries: their members, found in the files of a package of kgeval or through entry points of other packages.

This is what makes a new metric, model family or reader one new file: the file is found because it is there. Another
package brings members through entry points, whose groups are those of ``GROUPS``.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, TypeVar

from kgeval.errors import InputError, reason

GROUPS = (
    "kgeval.baselines",
    "kgeval.checkpoints",
    "kgeval.corruptions",
    "kgeval.families",
    "kgeval.layouts",
    "kgeval.metrics",
    "kgeval.protocols",
    "kgeval.slices",
    "kgeval.tie_policies",
)
"""the groups of entry points: ``[project.entry-points."kgeval.metrics"]`` and so on in the package's pyproject.toml"""

T = TypeVar("T")


def on_first_use(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the ``__getattr__`` and ``__dir__`` of a package whose public names are imported on first use.

    Parameters
    ----------
    package
        the package's own name
    homes
        the module in it that defines each name

    >>> attribute, _ = on_first_use("kgeval.data", {"Triples": "triples"})
    >>> attribute("Triples").__name__
    'Triples'
    """

    def attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)

    return attribute, lambda: [*vars(sys.modules[package]), *homes]


def modules(package: str) -> list[ModuleType]:
    """Import every module of a package and of the packages in it, in alphabetical order."""
    root = importlib.import_module(package)
    names = sorted(info.name for info in pkgutil.walk_packages(root.__path__, f"{package}."))
    return [importlib.import_module(name) for name in names]


def instances(package: str, kind: type[T]) -> list[T]:
    """List the objects of one type that a package's modules define at their top level."""
    found: dict[int, T] = {}
    for module in modules(package):
        for value in vars(module).values():
            if isinstance(value, kind):
                found.setdefault(id(value), value)
    return list(found.values())


def subclasses(package: str, base: type[T]) -> list[type[T]]:
    """List the classes below ``base`` that a package's modules define themselves."""
    return [
        value
        for module in modules(package)
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__ and issubclass(value, base)
    ]


def brought(group: str, kind: type[Any], *, classes: bool = False) -> list[Any]:
    """Load what installed packages declare in a group of entry points: objects of a type, or classes below it.

    Raises
    ------
    InputError
        if an entry point cannot be loaded, or is something else
    """
    return [
        _loaded(point, kind, classes=classes) for point in sorted(entry_points(group=group), key=lambda it: it.name)
    ]


def _loaded(point: Any, kind: type[Any], *, classes: bool) -> Any:
    package = "" if point.dist is None else f" of package {point.dist.name}"
    where = f"entry point {point.name!r} ({point.value}) in group {point.group}{package}"
    try:
        value = point.load()
    except Exception as error:
        raise InputError(f"{where} cannot be loaded: {reason(error)}. Mend or uninstall the package.") from error
    fits = isinstance(value, type) and issubclass(value, kind) if classes else isinstance(value, kind)
    if not fits:
        expected = f"a class below {kind.__name__}" if classes else f"a {kind.__name__}"
        raise InputError(f"{where}: expected {expected}, found {value!r:.100}.")
    return value


def by_name(what: str, members: Iterable[T]) -> dict[str, T]:
    """Index members by name.

    Raises
    ------
    InputError
        if two have one name, with the packages that bring members
    """
    found: dict[str, T] = {}
    for member in members:
        name = str(member.name)  # type: ignore[attr-defined]
        if name in found:
            raise InputError(
                f"two {what} are called {name!r}. Rename or remove the one of an installed package: {_packages()}."
            )
        found[name] = member
    return found


def _packages() -> str:
    """Name the packages that bring members of any registry."""
    points = [point for group in GROUPS for point in entry_points(group=group) if point.dist is not None]
    return ", ".join(sorted({point.dist.name for point in points if point.dist is not None})) or "there is none"
