"""Names of a package that are imported on first use: the imports below ``if TYPE_CHECKING`` in its file.

``kgeval/__init__.py`` and other files of public names call :func:`on_first_use`, so that importing them is fast.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def on_first_use(package: str, *submodules: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make ``__getattr__``, ``__dir__`` and ``__all__`` of a package from the imports below ``if TYPE_CHECKING``."""
    spec: Any = sys.modules[package].__spec__
    imports = re.findall(r"^    from (\S+) import \w+ as (\w+)$", spec.loader.get_source(package), re.MULTILINE)
    homes = {name: home for home, name in imports}

    def attribute(name: str) -> Any:
        if name in submodules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    def names() -> list[str]:
        return [*{*homes, *submodules, *filter(re.compile("__").match, vars(sys.modules[package]))}]

    return attribute, names, sorted(homes.keys() - submodules)
