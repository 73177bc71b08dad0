"""Registries: their members, found in the files of a package of kgeval or through entry points of other packages.

A registry is a dictionary from names to members of one type, such as all metrics. A new metric, model family or reader
is one new file, which no list has to name. Another package brings members through entry points, in the groups of
``GROUPS``. Each registry is one line beside its type:
``by_name("slices", [*instances("kgeval.analysis.slices", Slice), *load_entry_points("kgeval.slices", Slice)])``.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any, TypeVar

from kgeval.base.errors import BrokenPackage, InputError, reason

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


def instances(package: str, kind: type[T]) -> list[T]:
    """List the objects of one type that a package's modules define at their top level."""
    values = (value for module in modules(package) for value in vars(module).values() if isinstance(value, kind))
    return list({id(value): value for value in values}.values())


def subclasses(package: str, base: type[T]) -> list[type[T]]:
    """List the classes below ``base`` that a package's modules define themselves."""
    return [
        value
        for module in modules(package)
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__ and issubclass(value, base)
    ]


def modules(package: str) -> list[ModuleType]:
    """Import a package, and every module of it and of the packages in it, in alphabetical order."""
    root = importlib.import_module(package)
    names = sorted(info.name for info in pkgutil.walk_packages(root.__path__, f"{package}."))
    return [root, *map(importlib.import_module, names)]


def load_entry_points(group: str, kind: type[Any], *, classes: bool = False) -> list[Any]:
    """Load what installed packages declare in a group of entry points: objects of a type, or classes below it.

    An entry point that cannot be loaded, or has another type, is left out with a warning: the other members of
    the group can be used although that package is broken.
    """
    points = sorted(entry_points(group=group), key=lambda it: it.name)
    return [member for point in points for member in _loaded(point, kind, classes=classes)]


def _loaded(point: Any, kind: type[Any], *, classes: bool) -> list[Any]:
    where = _point_in_words(point)
    try:
        value = point.load()
    except (Exception, SystemExit) as error:  # whatever foreign code raises
        _warn(f"{where} cannot be loaded: {last_line(error)}. It is left out")
        return []
    fits = isinstance(value, type) and issubclass(value, kind) if classes else isinstance(value, kind)
    if not fits:
        expected = f"a class below {kind.__name__}" if classes else f"a {kind.__name__}"
        _warn(f"{where}: expected {expected}, found {value!r:.100}. It is left out")
        return []
    return [replace(value, recognises=_guarded(value.recognises, where)) if hasattr(value, "recognises") else value]


def _guarded(recognises: Callable[[Path], bool], where: str) -> Callable[[Path], bool]:
    """Make a format or layout of another package recognise nothing if it raises an error."""

    def guarded(path: Path) -> bool:
        try:
            return bool(recognises(path))
        except (Exception, SystemExit) as error:  # whatever foreign code raises
            _warn(f"{where} failed when it was shown {str(path)!r}: {last_line(error)}")
            return False

    return guarded


def _warn(problem: str) -> None:
    warnings.warn(f"{problem}. Update or uninstall the package.", BrokenPackage, stacklevel=2)


def _point_in_words(point: Any) -> str:
    package = "" if point.dist is None else f" of package {point.dist.name}"
    return f"entry point {point.name!r} ({point.value}) in group {point.group}{package}"


def last_line(error: BaseException) -> str:
    """Write an exception as the last line of its traceback does.

    >>> last_line(SystemExit(3)), last_line(KeyError("a")), last_line(ValueError())
    ('SystemExit: 3', "KeyError: 'a'", 'ValueError')
    """
    return f"{type(error).__name__}: {reason(error)}" if str(error) else type(error).__name__


def entry_points(group: str) -> Iterable[Any]:
    """List the entry points of a group; the packages are looked through once, unless the search path changes."""
    return list(_installed(tuple(sys.path)).select(group=group))


@functools.cache
def _installed(path: tuple[str, ...]) -> Any:  # noqa: ARG001  # the packages that Python finds on it
    return metadata.entry_points()


def by_name(
    what: str, members: Iterable[T], names: Callable[[Any], Iterable[str]] = lambda member: [str(member.name)]
) -> dict[str, T]:
    """Map the name of each member, or its several ``names``, to the member; no two may have the same."""
    mapping: dict[str, T] = {}
    for name, member in [(name, one) for one in members for name in names(one)]:
        if name in mapping:
            points = (point for group in GROUPS for point in entry_points(group=group))
            packages = ", ".join(sorted({point.dist.name for point in points if point.dist is not None}))
            cure = f"Rename or remove the one of an installed package: {packages or 'there is none'}."
            raise InputError(f"two {what} are called {name!r}. {cure}")
        mapping[name] = member
    return mapping


def find_plugin_of(error: BaseException) -> str | None:
    """Name the plug-in whose code raised an exception: its entry point, or its package if that has several.

    It is the innermost package with entry points in the traceback; None if there is none.
    """
    points: dict[str, list[Any]] = {}
    for point in (point for group in GROUPS for point in entry_points(group=group)):
        points.setdefault(point.module.partition(".")[0], []).append(point)
    modules = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    package = next((name for module in reversed(modules) if (name := module.partition(".")[0]) in points), None)
    if package is None:
        return None
    first, *others = points[package]
    return f"package {package if first.dist is None else first.dist.name}" if others else _point_in_words(first)
