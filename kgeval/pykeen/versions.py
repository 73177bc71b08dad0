"""A warning if the installed version of PyKEEN is not one that kgeval.pykeen was tested with."""

from __future__ import annotations

import importlib.metadata
import re
import warnings

TESTED = ((1, 11, 1), (1, 12))
"""the first version, and the first one that is not tested"""


def warn_of_untested(version: str | None = None) -> None:
    """Warn of a PyKEEN that the plug-in was not tested with; by default of the installed one.

    >>> warn_of_untested("1.11.1")
    """
    try:
        found = version or importlib.metadata.version("pykeen")
    except importlib.metadata.PackageNotFoundError:  # a source folder on the path
        found = "unknown"
    numbers = tuple(int(number) for number in re.findall(r"\d+", found)[:3])
    if not TESTED[0] <= numbers < TESTED[1]:
        first, last = (".".join(map(str, bound)) for bound in TESTED)
        warnings.warn(
            f"kgeval.pykeen was tested with PyKEEN {first} up to {last}, and this is {found}. "
            "Check one evaluation against evaluator='rankbased'.",
            stacklevel=3,
        )
