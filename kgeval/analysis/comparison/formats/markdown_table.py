"""Markdown: a table that GitHub and most other readers lay out."""

from __future__ import annotations

import re

from kgeval.analysis.comparison.formats.paper_table import PaperCell, PaperTable


def as_markdown(table: PaperTable) -> str:
    """Write a table, its caption above and its notes below it."""
    head = [*map(escape_markdown, table.keys), *(f"{column.title} {column.arrow}".rstrip() for column in table.columns)]
    rule = [*(":--" for _ in table.keys), *("--:" for _ in table.columns)]
    rows = [
        [*map(escape_markdown, row), *(_cell(column.cells[place]) for column in table.columns)]
        for place, row in enumerate(table.rows)
    ]
    lines = [f"{escape_markdown(table.caption)}", "", *map(_row, [head, rule, *rows])]
    return "\n".join([*lines, *(["", escape_markdown(" ".join(table.notes))] if table.notes else [])]) + "\n"


def escape_markdown(text: str) -> str:
    r"""Write text so that Markdown shows it.

    >>> print(escape_markdown("a|b *c* <script>"))
    a\|b \*c\* &lt;script&gt;
    """
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]#|~!])", r"\\\1", plain)


def _cell(cell: PaperCell) -> str:
    if cell.best:
        return f"**{cell.text}**"
    return f"<u>{cell.text}</u>" if cell.near else cell.text or "–"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
