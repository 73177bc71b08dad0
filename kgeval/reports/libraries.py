"""The libraries of pages and pictures, which an extra installs and which are imported when they are needed."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from types import ModuleType

from kgeval.errors import InputError

EXTRA = "kgeval[report]"

PACKAGES = {"altair": "altair", "vl_convert": "vl-convert-python", "jinja2": "Jinja2"}
"""the packages of the extra, by the modules that they bring"""


def library(module: str) -> ModuleType:
    """Import a library of the extra.

    >>> library("jinja2").__name__
    'jinja2'

    Raises
    ------
    InputError
        if it is not installed, with the command that installs it
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise InputError(
            f"pages and pictures need {PACKAGES[module]}, which is not installed. Run: pip install '{EXTRA}'"
        ) from error


def has_libraries() -> bool:
    """Whether all libraries of the extra are installed."""
    return all(find_spec(module) is not None for module in PACKAGES)
