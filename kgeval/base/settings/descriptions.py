"""What the fields of settings mean: the docstrings below them, read from the source once they are shown."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from contextlib import suppress
from itertools import pairwise
from typing import Any


@functools.cache
def descriptions(settings: type[Any]) -> dict[str, str]:
    """Read the docstrings of the fields of a class and of those above it, by name; without source files there are none.

    Pydantic's own ``use_attribute_docstrings`` reads them whenever a class is made, by each command.
    """
    texts: dict[str, str] = {}
    for part in reversed(settings.__mro__):
        with suppress(OSError, TypeError):  # no source file; a class of the interpreter
            if "__pydantic_fields__" in vars(part):
                texts.update(_docstrings(inspect.getsource(part)))
    return texts


def _docstrings(source: str) -> dict[str, str]:
    """Find the text below each annotated name of a class."""
    lines: list[Any] = ast.parse(textwrap.dedent(source)).body[0].body  # type: ignore[attr-defined]
    return {
        ast.unparse(field.target): inspect.cleandoc(ast.literal_eval(below.value))
        for field, below in pairwise(lines)
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr)
    }
