"""Tables that fit the terminal: split into blocks, stacked or wrapped at words, never with a cell cut short."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from typing import Any

GAP = "  "
RULE = "─"

READABLE = 24
"""columns that running text takes at least beside others"""


@dataclass(frozen=True)
class Table:
    """Rows of text: columns that say what a row is, and columns of numbers, or of prose."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    keys: int = 1
    """how many columns, from the left, say what a row is"""
    parts: tuple[str, ...] = ()
    """what each column of numbers belongs to, such as its side: where blocks are split first"""

    def numbers(self, width: int | None) -> Iterator[str]:
        r"""Yield the lines of a table of numbers; one that is too wide becomes several, each with the keys.

        Parameters
        ----------
        width
            columns of the terminal; none where lines may be as long as they need to be

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
        r"""Yield the lines of a table of text; one that is too wide becomes a paragraph per row, wrapped at words.

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
            if widths[widest] < max(READABLE, self._longest_word(widest)):
                for index, row in enumerate(self.rows):
                    yield from ([""] if index and len(row) > 2 else [])
                    yield from _paragraph(self.columns, row, width)
                return
        if any(self.columns):
            yield from _beside(self.columns, widths)
            yield RULE * _total(widths)
        for row in self.rows:
            yield from _beside(row, widths)

    def _widths(self) -> list[int]:
        return [
            max(cells(line) for text in column for line in text.splitlines() or [""])
            for column in zip(self.columns, *self.rows, strict=True)
        ]

    def _longest_word(self, column: int) -> int:
        return max((cells(word) for row in self.rows for word in row[column].split()), default=0)

    def _blocks(self, width: int | None) -> Iterator[list[int]]:
        """Yield the columns of numbers of each block."""
        widths, numbers = self._widths(), range(self.keys, len(self.columns))
        if width is None or _fits(widths, width):
            yield list(numbers)
            return
        room = width - min(_total(widths[: self.keys]), max(16, width // 4))
        block: list[int] = []
        for column in numbers:
            apart = self.parts and block and self.parts[column - self.keys] != self.parts[block[0] - self.keys]
            if block and (apart or _total([0, *(widths[number] for number in (*block, column))]) > room):
                yield block
                block = []
            block.append(column)
        yield block

    def _block(self, numbers: list[int], width: int | None) -> Iterator[str]:
        """Yield the lines of one block; a key that leaves its numbers no room stands on a line of its own."""
        widths = self._widths()
        right = [min(widths[number], width or widths[number]) for number in numbers]
        left = widths[: self.keys]
        full = _total([*left, *right])
        if width is not None:
            while any(left) and (excess := _total([*left, *right]) - width) > 0:
                longest = left.index(max(left))
                left[longest] = max(0, left[longest] - excess)
            full = min(full, width)
        indent = max(0, full - _total(right))
        yield from _hanging(self.columns, left, numbers, right, indent)
        yield RULE * full
        for row in self.rows:
            yield from _hanging(row, left, numbers, right, indent)


def cells(text: str) -> int:
    """How many columns of a terminal a text takes: Chinese characters take two each.

    >>> cells("rank"), cells("秩")
    (4, 2)
    """
    from rich.cells import cell_len

    return cell_len(text)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _fits(widths: Sequence[int], width: int | None) -> bool:
    return width is None or _total(widths) <= width


def _beside(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Yield a row of text, wrapped in its columns."""
    beside = [wrapped(text, width) for text, width in zip(row, widths, strict=True)]
    for line in zip_longest(*beside, fillvalue=""):
        yield GAP.join(text + " " * (width - cells(text)) for text, width in zip(line, widths, strict=True)).rstrip()


def _hanging(
    row: Sequence[str], left: Sequence[int], numbers: Sequence[int], right: Sequence[int], indent: int
) -> Iterator[str]:
    """Yield a row: the keys and then its numbers, which go to the next line where a key is too long."""
    keys = row[: len(left)]
    values = GAP.join(
        " " * (width - cells(row[number])) + row[number] for number, width in zip(numbers, right, strict=True)
    )
    if all(cells(key) <= width for key, width in zip(keys, left, strict=True)):
        padded = GAP.join(key + " " * (width - cells(key)) for key, width in zip(keys, left, strict=True))
        yield (padded + GAP + values).rstrip()
    else:
        yield GAP.join(keys)
        yield " " * indent + values


def _paragraph(columns: Sequence[str], row: Sequence[str], width: int) -> Iterator[str]:
    """Yield a row of text as an entry of a list: what it is, and beneath it all else that is not empty."""
    yield row[0]
    if len(row) == 2:
        yield from (GAP + line for line in wrapped(row[1], width - len(GAP)))
        return
    line = ""
    for told in (f"{column}: {text}" for column, text in zip(columns[1:], row[1:], strict=True) if text):
        if line and cells(line + told) + 2 * len(GAP) <= width:
            line = f"{line}{GAP}{told}"
            continue
        yield from _hanging_text(line, width)
        line = GAP + told
    yield from _hanging_text(line, width)


def _hanging_text(line: str, width: int) -> Iterator[str]:
    if line:
        first, *further = wrapped(line, width - len(GAP))
        yield first
        yield from (GAP + more for more in further)


def wrapped(text: str, width: int | None) -> list[str]:
    """Wrap at words, and keep how far each line is to the right; a word that is too long is left to the terminal."""
    lines = []
    for line in text.splitlines():
        if width is None or cells(line) <= width:
            lines.append(line)
        else:
            indent = line[: len(line) - len(line.lstrip())]
            whole: Any = {"break_long_words": False, "break_on_hyphens": False}
            lines += wrap(line.strip(), max(width, 1), initial_indent=indent, subsequent_indent=indent, **whole)
    return lines or [""]
