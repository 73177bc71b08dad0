"""How an object shows itself: one line (``repr``), text (``str``), and tables in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from kgeval.base.errors import visible
from kgeval.base.tables.text_layout import wrap_lines

WIDTH = 84
"""the columns of ``str``, whose lines above and below tables are wrapped: they fit a page of documentation"""


class Brief:
    """An object whose ``repr`` is one line; dataclasses need ``repr=False`` for it."""

    def _brief(self) -> str:
        """What the parentheses of ``repr`` hold; by default the name."""
        return str(getattr(self, "name", ""))

    def __repr__(self) -> str:
        return visible(f"{type(self).__name__}({self._brief()})")


class Parts(NamedTuple):
    """What a result shows, from top to bottom."""

    heads: Sequence[str]
    tables: Sequence[Any]
    """of ``kgeval.base.tables.table``"""
    below: Sequence[str] = ()


class Displayed(Brief):
    """A result with lines above its tables and below them."""

    def _parts(self) -> Parts:
        raise NotImplementedError

    def __str__(self) -> str:
        heads, tables, below = self._parts()
        texts = ["\n".join(table.lines(None, ruled=False)) for table in tables]
        above, after = (
            "\n".join(part for line in lines for part in wrap_lines(line, WIDTH)) for lines in (heads, below)
        )
        return "\n".join(filter(None, ["\n\n".join(filter(None, [above, *texts])), after]))

    def _repr_html_(self) -> str:
        heads, tables, below = self._parts()
        above, after = (("".join(f"<p>{escape(line)}</p>" for line in lines)) for lines in (heads, below))
        return f"<div>{above}{''.join(table.html() for table in tables)}{after}</div>"
