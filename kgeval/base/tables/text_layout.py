"""The layout of tables as text that fits a width: split into blocks, stacked or wrapped at words; no cell is cut.

``Table.lines`` calls :func:`numbers` for a table of numbers and :func:`prose` for one of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Any
from unicodedata import category, east_asian_width

from kgeval.base.errors import visible

GAP = "  "
RULE = "─"

INVISIBLE = ("Mn", "Me", "Cf")
"""the kinds of characters without a column: accents that belong to the letter before them, and marks of formatting"""

MIN_PROSE_WIDTH = 24
"""the least width of a column of running text"""

Row = Sequence[str]


def numbers(
    columns: Row, rows: Sequence[Row], keys: int, parts: Sequence[str], width: int | None, *, ruled: bool = True
) -> Iterator[str]:
    r"""Yield the lines of a table of numbers; a table that is too wide is split into several, each with the keys.

    The first ``keys`` columns name a row. ``parts`` has the group of each other column, such as its side: a table is
    split between groups first. A ``width`` of ``None`` allows lines of any length.

    >>> columns, rows = ("relation", "mrr", "count"), (("born_in", "0.25", "1716"), ("likes", "0.5", "9"))
    >>> print(*numbers(columns, rows, 1, (), None), sep="\n")
    relation   mrr  count
    ─────────────────────
    born_in   0.25   1716
    likes      0.5      9
    >>> print(*numbers(columns, rows, 1, (), 16), sep="\n")
    relation   mrr
    ──────────────
    born_in   0.25
    likes      0.5
    <BLANKLINE>
    relation  count
    ───────────────
    born_in    1716
    likes         9
    """
    widths = _widths(columns, rows)
    for index, block in enumerate(_blocks(widths, keys, parts, width)):
        if index:
            yield ""
        number_widths = [min(widths[number], width or widths[number]) for number in block]
        key_widths = _key_widths(widths[:keys], number_widths, width)
        full = _total([*widths[:keys], *number_widths])
        full = full if width is None else min(full, width)
        for place, row in enumerate((columns, *rows)):
            if place == 1 and ruled:
                yield RULE * full
            right = _aligned([row[number] for number in block], number_widths, right=True)
            if all(cells(key) <= room for key, room in zip(row, key_widths, strict=False)):
                yield GAP.join([*([_aligned(row[:keys], key_widths)] if keys else []), right]).rstrip()
            else:  # a key that is too long for its column gets a line of its own
                yield GAP.join(row[:keys])
                yield " " * max(0, full - _total(number_widths)) + right
        if not rows and ruled:
            yield RULE * full


def prose(columns: Row, rows: Sequence[Row], width: int | None, *, ruled: bool = True) -> Iterator[str]:
    r"""Yield the lines of a table of text; a table that is too wide becomes a paragraph per row, wrapped at words.

    >>> print(*prose(("name", "title", "range"), (("mrr", "mean reciprocal rank", "0 … 1"),), 24), sep="\n")
    mrr
      title: mean
        reciprocal rank
      range: 0 … 1
    """
    widths = _widths(columns, rows)
    if width is not None and _total(widths) > width:
        widest = widths.index(max(widths))
        widths[widest] += width - _total(widths)
        longest_word = max((cells(word) for row in rows for word in row[widest].split()), default=0)
        if widths[widest] < max(MIN_PROSE_WIDTH, longest_word):
            for index, row in enumerate(rows):
                yield from ([""] if index and len(row) > 2 else [])
                yield from _paragraph(columns, row, width)
            return
    for place, row in enumerate((columns, *rows) if any(columns) else rows):
        wrapped = [wrap_lines(text, room) for text, room in zip(row, widths, strict=True)]
        yield from (_aligned(line, widths).rstrip() for line in zip_longest(*wrapped, fillvalue=""))
        if place == 0 and any(columns) and ruled:
            yield RULE * _total(widths)


def _widths(columns: Row, rows: Sequence[Row]) -> list[int]:
    return [
        max(cells(line) for text in column for line in text.splitlines() or [""])
        for column in zip(columns, *rows, strict=True)
    ]


def _blocks(widths: list[int], keys: int, parts: Sequence[str], width: int | None) -> Iterator[list[int]]:
    if width is None or _total(widths) <= width:
        yield list(range(keys, len(widths)))
        return
    available = width - min(_total(widths[:keys]), max(16, width // 4))
    block: list[int] = []
    for column in range(keys, len(widths)):
        new_part = parts and block and parts[column - keys] != parts[block[0] - keys]
        if block and (new_part or _total([0, *(widths[number] for number in (*block, column))]) > available):
            yield block
            block = []
        block.append(column)
    yield block


def _key_widths(keys: list[int], numbers: list[int], width: int | None) -> list[int]:
    """Narrow the widest keys until a row fits."""
    keys = list(keys)
    while width is not None and any(keys) and (excess := _total([*keys, *numbers]) - width) > 0:
        longest = keys.index(max(keys))
        keys[longest] = max(0, keys[longest] - excess)
    return keys


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes: Chinese characters take two each.

    >>> cells("rank"), cells("秩")
    (4, 2)
    """
    if text.isascii():
        return len(text)
    return sum(category(letter) not in INVISIBLE and 1 + (east_asian_width(letter) in "WF") for letter in text)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _aligned(row: Row, widths: Sequence[int], *, right: bool = False) -> str:
    padded = ((text, " " * (width - cells(text))) for text, width in zip(row, widths, strict=True))
    return GAP.join(space + text if right else text + space for text, space in padded)


def _paragraph(columns: Row, row: Row, width: int) -> Iterator[str]:
    """Yield a row of text as a list item: its key, and below it all cells that are not empty."""
    yield row[0]
    if len(row) == 2:
        yield from (GAP + line for line in wrap_lines(row[1], width - len(GAP)))
        return
    line = ""
    for cell in (f"{column}: {text}" for column, text in zip(columns[1:], row[1:], strict=True) if text):
        if line and cells(line + cell) + 2 * len(GAP) <= width:
            line = f"{line}{GAP}{cell}"
            continue
        yield from _hanging_indent(line, width)
        line = GAP + cell
    yield from _hanging_indent(line, width)


def _hanging_indent(line: str, width: int) -> Iterator[str]:
    if line:
        first, *others = wrap_lines(line, width - len(GAP))
        yield first
        yield from (GAP + other for other in others)


def wrap_lines(text: str, width: int | None) -> list[str]:
    """Wrap each line of a text at words, with its own indent; a word that is too long is left to the terminal."""
    lines = []
    for line in visible(text).splitlines():
        if width is None or cells(line) <= width:
            lines.append(line)
        else:
            indent = line[: len(line) - len(line.lstrip())]
            options: Any = {"break_long_words": False, "break_on_hyphens": False}
            lines += wrap(line.strip(), max(width, 1), initial_indent=indent, subsequent_indent=indent, **options)
    return lines or [""]
