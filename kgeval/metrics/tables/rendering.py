"""Rendering: the numbers, tables and notes of a summary as text, for terminals, and as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

Rows = Sequence[Sequence[str]]


def number(value: float | None) -> str:
    """Format a metric: counts as integers, other values with six decimals, from 10¹² on in scientific notation.

    >>> number(20466), number(1), number(1.0), number(0.3126566306), number(None)
    ('20466', '1', '1.000000', '0.312657', 'undefined')
    >>> number(2e200), number(-1e-9)
    ('2.000000e+200', '0.000000')
    """
    if value is None:
        return "undefined"
    if isinstance(value, int):
        return str(value)
    # Adding 0.0 turns a negative zero into 0.0.
    return f"{round(value, 6) + 0.0:.6f}" if abs(value) < 1e12 else f"{value:.6e}"


def as_text(heads: Iterable[str], columns: Sequence[str], rows: Rows, notes: Iterable[str]) -> str:
    """Format a table, its first column left-aligned and the others right-aligned, between its headings and notes."""
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    table = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in (columns, *rows)
    ]
    return "\n".join([*heads, "", *table, *(f"Note: {note}" for note in notes)])


def as_html(heads: Iterable[str], columns: Sequence[str], rows: Rows, notes: Iterable[str]) -> str:
    """Format a table as HTML between its headings and notes; labels are escaped.

    >>> as_html(["R&D"], ["", "mrr"], [["<b>", "0.5"]], [])
    '<div><p>R&amp;D</p><table><tr><th></th><th>mrr</th></tr><tr><th>&lt;b&gt;</th><td>0.5</td></tr></table></div>'
    """
    header = "".join(f"<th>{escape(cell)}</th>" for cell in columns)
    body = "".join(
        f"<tr><th>{escape(row[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row[1:])}</tr>" for row in rows
    )
    above = "".join(f"<p>{escape(head)}</p>" for head in heads)
    below = "".join(f"<p>Note: {escape(note)}</p>" for note in notes)
    return f"<div>{above}<table><tr>{header}</tr>{body}</table>{below}</div>"
