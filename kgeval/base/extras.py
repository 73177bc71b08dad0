"""Libraries that kgeval can do without: each belongs to an extra, which is named where the library is missing."""

from __future__ import annotations

from importlib.util import find_spec

from kgeval.base.errors import MissingLibrary

OF_REPORT = ("altair", "jinja2", "vl_convert")

EXTRAS = {
    **dict.fromkeys(OF_REPORT, "report"),
    **dict.fromkeys(("pykeen", "pystow"), "pykeen"),
    "h5py": "pbg",
    "ray": "ray",
    "torch": "torch",
}
"""the module of a library -> the extra of kgeval that brings it"""

NAMES = {"jinja2": "Jinja2", "pykeen": "PyKEEN", "ray": "Ray", "vl_convert": "vl-convert-python"}


def is_installed(module: str) -> bool:
    """Whether a library is there; it is not imported."""
    return find_spec(module) is not None


def refuse_missing(needs: str, *modules: str) -> None:
    """Refuse what needs libraries of extras, if one is not installed.

    >>> refuse_missing("a page needs", "altair", "jinja2")
    """
    for module in modules:
        if not is_installed(module):
            name, cure = NAMES.get(module, module), f"Run: pip install 'kgeval[{EXTRAS[module]}]'"
            raise MissingLibrary(f"{needs} {name}, which is not installed. {cure}")
