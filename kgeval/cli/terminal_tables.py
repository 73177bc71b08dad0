"""Tables that fit the terminal: split into blocks, stacked or wrapped at words; no cell is truncated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from typing import Any

from kgeval.errors import visible

GAP = "  "
RULE = "─"

MIN_PROSE_WIDTH = 24
"""the least width of a column of running text"""


@dataclass(frozen=True)
class Table:
    """Rows of text: key columns, then columns of numbers or of prose."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    keys: int = 1
    """the number of key columns, which are the first ones"""
    parts: tuple[str, ...] = ()
    """the group of each column of numbers, such as its side: blocks are split between groups first"""

    def numbers(self, width: int | None) -> Iterator[str]:
        r"""Yield the lines of a table of numbers; a table that is too wide is split into several, each with the keys.

        Parameters
        ----------
        width
            columns of the terminal; None where lines may have any length

        Examples
        --------
        >>> table = Table(("relation", "mrr", "count"), (("born_in", "0.25", "1716"), ("likes", "0.5", "9")))
        >>> print(*table.numbers(None), sep="\n")
        relation   mrr  count
        ─────────────────────
        born_in   0.25   1716
        likes      0.5      9
        >>> print(*table.numbers(16), sep="\n")
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
        for index, block in enumerate(self._blocks(width)):
            yield from ([""] if index else [])
            yield from self._block(block, width)

    def prose(self, width: int | None) -> Iterator[str]:
        r"""Yield the lines of a table of text; a table that is too wide becomes a paragraph per row, wrapped at words.

        >>> table = Table(("name", "title", "range"), (("mrr", "mean reciprocal rank", "0 … 1"),))
        >>> print(*table.prose(24), sep="\n")
        mrr
          title: mean
            reciprocal rank
          range: 0 … 1
        """
        widths = self._widths()
        if width is not None and not _fits(widths, width):
            widest = widths.index(max(widths))
            widths[widest] += width - _total(widths)
            longest_word = max((cells(word) for row in self.rows for word in row[widest].split()), default=0)
            if widths[widest] < max(MIN_PROSE_WIDTH, longest_word):
                for index, row in enumerate(self.rows):
                    yield from ([""] if index and len(row) > 2 else [])
                    yield from _paragraph(self.columns, row, width)
                return
        if any(self.columns):
            yield from _wrapped_row(self.columns, widths)
            yield RULE * _total(widths)
        for row in self.rows:
            yield from _wrapped_row(row, widths)

    def _widths(self) -> list[int]:
        return [
            max(cells(line) for text in column for line in text.splitlines() or [""])
            for column in zip(self.columns, *self.rows, strict=True)
        ]

    def _blocks(self, width: int | None) -> Iterator[list[int]]:
        """Yield the columns of numbers of each block."""
        widths, numbers = self._widths(), range(self.keys, len(self.columns))
        if width is None or _fits(widths, width):
            yield list(numbers)
            return
        available = width - min(_total(widths[: self.keys]), max(16, width // 4))
        block: list[int] = []
        for column in numbers:
            new_part = self.parts and block and self.parts[column - self.keys] != self.parts[block[0] - self.keys]
            if block and (new_part or _total([0, *(widths[number] for number in (*block, column))]) > available):
                yield block
                block = []
            block.append(column)
        yield block

    def _block(self, numbers: list[int], width: int | None) -> Iterator[str]:
        """Yield the lines of one block; a key that is too long for its column gets a line of its own."""
        widths = self._widths()
        number_widths = [min(widths[number], width or widths[number]) for number in numbers]
        key_widths = widths[: self.keys]
        full = _total([*key_widths, *number_widths])
        if width is not None:
            while any(key_widths) and (excess := _total([*key_widths, *number_widths]) - width) > 0:
                longest = key_widths.index(max(key_widths))
                key_widths[longest] = max(0, key_widths[longest] - excess)
            full = min(full, width)
        indent = max(0, full - _total(number_widths))

        def lines(row: Sequence[str]) -> Iterator[str]:
            return _row(row[: self.keys], key_widths, [row[number] for number in numbers], number_widths, indent)

        yield from lines(self.columns)
        yield RULE * full
        for row in self.rows:
            yield from lines(row)


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes: Chinese characters take two each.

    >>> cells("rank"), cells("秩")
    (4, 2)
    """
    from rich.cells import cell_len

    return cell_len(text)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _fits(widths: Sequence[int], width: int | None) -> bool:
    return width is None or _total(widths) <= width


def _left(row: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(text + " " * (width - cells(text)) for text, width in zip(row, widths, strict=True))


def _wrapped_row(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a row of text, wrapped in its columns."""
    columns = [wrap_lines(text, width) for text, width in zip(row, widths, strict=True)]
    yield from (_left(line, widths).rstrip() for line in zip_longest(*columns, fillvalue=""))


def _row(
    keys: Sequence[str], key_widths: Sequence[int], numbers: Sequence[str], number_widths: Sequence[int], indent: int
) -> Iterator[str]:
    """Yield a row: the keys, then the numbers; these are on the next line, indented, where a key is too long."""
    right = GAP.join(
        " " * (width - cells(number)) + number for number, width in zip(numbers, number_widths, strict=True)
    )
    if all(cells(key) <= width for key, width in zip(keys, key_widths, strict=True)):
        yield GAP.join([*([_left(keys, key_widths)] if keys else []), right]).rstrip()
    else:
        yield GAP.join(keys)
        yield " " * indent + right


def _paragraph(columns: Sequence[str], row: Sequence[str], width: int) -> Iterator[str]:
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
