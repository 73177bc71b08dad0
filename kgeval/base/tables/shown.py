"""A result that is shown: heads, tables and notes, as text, in notebooks, in papers and as plain data.

Heads are the lines above the tables. Summaries, comparisons and other results are classes below ``Shown``, which
writes them in every form; a command makes a ``Page``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from kgeval.base.errors import visible
from kgeval.base.tables.table import Table
from kgeval.base.tables.text_layout import wrap_lines

WIDTH = 84
"""characters in a line of ``str``, to which heads and notes are wrapped: they fit a page of documentation"""


class Brief:
    """An object whose ``repr`` is one line; dataclasses need ``repr=False`` for it."""

    def _brief(self) -> str:
        """The text in the parentheses of ``repr``; by default the name."""
        return str(getattr(self, "name", ""))

    def __repr__(self) -> str:
        return visible(f"{type(self).__name__}({self._brief()})")


class Parts(NamedTuple):
    """What a result shows, from top to bottom."""

    heads: Sequence[str]
    tables: Sequence[Table]
    below: Sequence[str] = ()


class Displayed(Brief):
    """The text and the HTML of a result; a subclass says in ``_parts`` what is shown."""

    def _parts(self) -> Parts:
        raise NotImplementedError

    def __str__(self) -> str:
        heads, tables, below = self._parts()
        texts = ["\n".join(table.lines(None, ruled=False)) for table in tables]
        above, after = ("\n".join(row for line in lines for row in wrap_lines(line, WIDTH)) for lines in (heads, below))
        return "\n".join(filter(None, ["\n\n".join(filter(None, [above, *texts])), after]))

    def _repr_html_(self) -> str:
        heads, tables, below = self._parts()
        above, after = (("".join(f"<p>{escape(line)}</p>" for line in lines)) for lines in (heads, below))
        return f"<div>{above}{''.join(table.html() for table in tables)}{after}</div>"


class Shown(Displayed):
    """A result: heads, tables and notes, as text, in notebooks, in papers and as plain data."""

    if TYPE_CHECKING:
        # For type checkers alone: at run time, fields of dataclasses would take the properties for default values.
        @property
        def heads(self) -> tuple[str, ...]: ...
        @property
        def notes(self) -> tuple[str, ...]: ...

    def tables(self) -> tuple[Table, ...]:
        """Return the tables, the most important first."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        raise NotImplementedError

    @property
    def below(self) -> tuple[str, ...]:
        """The lines below the tables."""
        return tuple(f"Note: {note}" for note in self.notes)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the titles of the columns, and the rows of cells, for people to read."""
        first = self.tables()[0]
        return first.titles, first.texts()

    def papers(self) -> tuple[Table, ...]:
        """Return the tables for papers: the first with the heads in its title, the last with the notes."""
        *others, last = self.tables()
        last = replace(last, notes=[line.removeprefix("Note: ") for line in self.below])
        first, *others = [*others, last]
        return (replace(first, title="; ".join(filter(None, (*self.heads, first.title)))), *others)

    def to_markdown(self, digits: int | None = None) -> str:
        """Write the tables in Markdown; ``digits`` after the point, by default as many as are justified."""
        return "\n".join(table.markdown(digits) for table in self.papers())

    def to_latex(self, digits: int | None = None) -> str:
        """Write the tables for a paper: booktabs, siunitx; ``digits`` as in :meth:`to_markdown`."""
        return "\n".join(table.latex(digits) for table in self.papers())

    def csv_tables(self) -> tuple[Table, ...]:
        """Return the tables that are written as CSV."""
        return self.tables()

    def to_csv(self) -> str:
        """Write the tables as CSV, with all digits."""
        return "\n".join(table.csv() for table in self.csv_tables())

    def _brief(self) -> str:
        return "; ".join(self.heads).removesuffix(".")

    def _parts(self) -> Parts:
        return Parts(self.heads, self.tables(), self.below)


@dataclass(frozen=True, repr=False)
class Page(Shown):
    """What a command prints about one or several results."""

    heads: tuple[str, ...]
    parts: tuple[Table, ...]
    notes: tuple[str, ...] = ()
    content: Callable[[], Any] = dict
    """makes the plain data of ``to_dict``"""

    def tables(self) -> tuple[Table, ...]:
        return self.parts

    def to_dict(self) -> Any:
        return self.content()
