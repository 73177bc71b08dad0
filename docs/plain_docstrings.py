"""Docstrings as the site shows them."""

import re
from typing import Any

import griffe

SETTINGS = "**settings\n    the settings of an evaluation, which are listed under [Settings][evaluation-settings]"


class PlainDocstrings(griffe.Extension):
    """Make docstrings Markdown that the site lays out well.

    Roles such as ``:func:`kgeval.report` `` are code, and examples outside of a section are blocks of code. Parameters
    that share a description have it each: they would share the type and the default of the first. What follows the
    parameters comes before them: it would be a parameter. The settings of an evaluation are described once.
    """

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Show what ``@attribute`` declares as the attribute that it is."""
        if func.parent is not None and any(str(it.value) == "attribute" for it in func.decorators):
            shown = griffe.Attribute(func.name, annotation=func.returns, docstring=func.docstring, lineno=func.lineno)
            func.parent.set_member(func.name, shown)

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of a name when it is loaded."""
        if obj.docstring is None:
            return
        text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", obj.docstring.value)
        text = text.replace("{settings}", SETTINGS)
        text = re.sub(r"(?m)^(\w+(?:, \w+)+)\n((?: +\S.*(?:\n|$))+)", _apart, text)
        text = re.sub(r"(?s)(Parameters\n-+\n.*?)\n\n([A-Z]\w* [^\n].*?)(?=\n\n\w+\n---|\Z)", r"\2\n\n\1", text)
        before, section, after = text.partition("\nExamples\n-----")
        obj.docstring.value = re.sub(r"(?ms)^>>> .*?(?=\n\n|\Z)", r"```pycon\n\g<0>\n```", before) + section + after


def _apart(shared: re.Match[str]) -> str:
    return "".join(f"{name}\n{shared[2]}" for name in shared[1].split(", "))
