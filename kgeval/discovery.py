"""Find the members of a room: every object of one type that the modules of a package declare.

This is what makes a new metric, model family or reader one new file: the file is found because it is there.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


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
