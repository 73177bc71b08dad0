"""Optional libraries: each belongs to an extra, such as ``kgeval[torch]``, which the error names if it is missing.

Code that needs such a library calls :func:`refuse_missing` before the import.
"""

from __future__ import annotations

from importlib.util import find_spec

from kgeval.base.errors import MissingLibrary

OF_REPORT = ("altair", "jinja2", "vl_convert")
"""the modules that reports need"""

EXTRAS = {
    **dict.fromkeys(OF_REPORT, "report"),
    **dict.fromkeys(("pykeen", "pystow"), "pykeen"),
    "h5py": "pbg",
    "ray": "ray",
    "torch": "torch",
}
"""the module of a library -> the extra of kgeval that brings it"""

NAMES = {"jinja2": "Jinja2", "pykeen": "PyKEEN", "ray": "Ray", "vl_convert": "vl-convert-python"}
"""the module of a library -> its name in messages"""


def is_installed(module: str) -> bool:
    """Whether a library is installed; it is not imported."""
    return find_spec(module) is not None


def refuse_missing(needs: str, *modules: str) -> None:
    """Raise MissingLibrary if one of the modules is not installed; ``needs`` begins the message.

    >>> refuse_missing("a page needs", "altair", "jinja2")
    """
    for module in modules:
        if not is_installed(module):
            name, cure = NAMES.get(module, module), f"Run: pip install 'kgeval[{EXTRAS[module]}]'"
            raise MissingLibrary(f"{needs} {name}, which is not installed. {cure}")
