"""A result that is shown: heads, tables and notes, as text, in notebooks, in papers and as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kgeval.base.tables.displayed import Displayed, Parts
from kgeval.base.tables.table import Table


class Shown(Displayed):
    """A result: heads, tables and notes, as text, in notebooks, in papers and as plain data."""

    if TYPE_CHECKING:
        # Not for classes at run time, whose fields would take these for default values.
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
        """Return the tables with their titles and notes."""
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
    """makes the plain data"""

    def tables(self) -> tuple[Table, ...]:
        return self.parts

    def to_dict(self) -> Any:
        return self.content()
