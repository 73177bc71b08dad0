"""Docstrings as the site shows them."""

import re
from typing import Any

import griffe


class PlainDocstrings(griffe.Extension):
    """Make docstrings Markdown: no role, such as ``:func:`kgeval.report` ``, and one parameter a line.

    Parameters that share a description would share the type and the default of the first too.
    """

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of a name when it is loaded."""
        if obj.docstring is not None:
            text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", obj.docstring.value)
            obj.docstring.value = re.sub(r"(?m)^(\w+(?:, \w+)+)\n((?: +\S.*(?:\n|$))+)", _apart, text)


def _apart(shared: re.Match[str]) -> str:
    return "".join(f"{name}\n{shared[2]}" for name in shared[1].split(", "))
