"""Rendering: the numbers, tables and notes of a summary as text, for terminals, and as HTML, for notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from kgeval.metrics.intervals.interval import Interval

Rows = Sequence[Sequence[str]]


DIGITS = 6
"""decimals, where no interval tells how many mean something"""


def number(value: float | None, digits: int = DIGITS) -> str:
    """Format a metric: counts as integers, other values with some decimals, from 10¹² on in scientific notation.

    >>> number(20466), number(1), number(1.0), number(0.3126566306), number(0.3126566306, 4), number(None)
    ('20466', '1', '1.000000', '0.312657', '0.3127', 'undefined')
    >>> number(2e200), number(-1e-9)
    ('2.000000e+200', '0.000000')
    """
    if value is None:
        return "undefined"
    if isinstance(value, int):
        return str(value)
    # Adding 0.0 turns a negative zero into 0.0.
    return f"{round(value, digits) + 0.0:.{digits}f}" if abs(value) < 1e12 else f"{value:.{digits}e}"


def cell(value: float | None, interval: Interval | None, digits: int | None = None) -> str:
    """Format a metric with its interval: ± half of it where it is symmetric, else with both ends.

    >>> symmetric = Interval(0.3, 0.34, level=0.95, unit="triple", units=900, method="linearised", standard_error=0.01)
    >>> cell(0.32, symmetric), cell(0.31, symmetric, digits=2), cell(0.32, None)
    ('0.320 ± 0.020', '0.31 (0.30–0.34)', '0.320000')
    """
    if value is None or interval is None:
        return number(value, DIGITS if digits is None else digits)
    places = interval.decimals if digits is None else digits
    below, above = value - interval.low, interval.high - value
    if abs(above - below) <= 1e-9 * (interval.high - interval.low):
        return f"{number(value, places)} ± {number(above, places)}"
    return f"{number(value, places)} ({number(interval.low, places)}–{number(interval.high, places)})"


def p_text(p: float, *, is_bound: bool = False) -> str:
    """Format a p-value; one that is only known to be no larger, because no draw was as extreme, as ``≤``.

    >>> p_text(0.00914), p_text(0.0045, is_bound=True), p_text(0.00031, is_bound=True), p_text(1e-9)
    ('0.0091', '≤ 0.0045', '≤ 0.0004', '< 0.0001')
    """
    if is_bound:  # rounded up, or it would claim more
        return f"≤ {math.ceil(p * 10_000 - 1e-6) / 10_000:.4f}"
    return f"{p:.4f}" if p >= 0.0001 else "< 0.0001"


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


def notes_with_models(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Collect the notes of models, by their names; a note that all of several have needs no names.

    >>> notes_with_models({"a": ["3 triples are repeated."], "b": ["3 triples are repeated.", "4 ranks tie."]})
    ['3 triples are repeated.', 'b: 4 ranks tie.']
    """
    models: dict[str, list[str]] = {}
    for model, of_model in notes.items():
        for note in dict.fromkeys(of_model):
            models.setdefault(note, []).append(model)
    return [
        note if len(names) == len(notes) and (len(names) > 1 or not names[0]) else f"{', '.join(names)}: {note}"
        for note, names in models.items()
    ]
