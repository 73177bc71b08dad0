"""Delimited text files: columns are read by Arrow; where Arrow fails, a slow walk over the rows finds the bad line.

``tables.py`` and the readers of ids call :func:`read_columns` and :func:`rows`.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn, TextIO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from kgeval.base.errors import DatasetError, FileError, counted, reason, refusing
from kgeval.base.files import Budget, checked, exists_safely, no_file, refuse_special

WHOLE_NUMBER = re.compile(r"\s*-?[0-9]{1,18}\s*")

BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\u200b\ufeff"
"""characters that show nothing: spaces of all kinds, and marks of no width"""

UNIT_SEPARATOR = "\x1f"
"""a control character that is in no label: as the delimiter, it leaves each line whole"""

MAX_COMPRESSION = 50
"""how many times its size a compressed text may have, but for small ones (``kgeval.base.files.LEAST``)"""

MAX_LINE = 2**24
"""characters that a line may have: a compressed file without line ends takes no more memory than that"""

MAX_BLANK_LINES = 10_000
"""blank lines that may follow each other: a small compressed file can hold millions"""

KEPT = 2**16
"""bytes at the end of a file that are looked at, to see whether a quote in its last line is closed"""

BLOCK = 2**20
"""bytes of a compressed file that are unpacked at a time"""

UNDECODABLE = re.compile("[\ud800-\udfff]")
"""what :func:`open_text` puts in the place of bytes that are not UTF-8"""

COMPRESSED: Mapping[str, Callable[[Path], Any]] = {".gz": gzip.GzipFile, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
"""the ending of a compressed text -> what opens it"""

QUOTING = ",;|"
"""separators whose cells may be quoted"""

LOOKED_AT = 20
"""the number of rows that are read to find the separator"""


def read_columns(
    path: Path,
    names: Sequence[str],
    *,
    skip: int = 0,
    kind: pa.DataType | None = None,
    untyped: Sequence[str] = (),
    delimiter: str | None = None,
    quoted: bool | None = None,
    free: bool = False,
) -> pa.Table:
    """Read a delimited text file, compressed or not, in which every row has the named columns.

    ``kind`` is the type of these columns: int64, or (by default) strings, of which none is null. Strings of ``untyped``
    columns follow them. ``skip`` lines precede the first row. By default the first rows tell the delimiter; cells may
    be quoted where it is one of ``QUOTING``. ``free``: users can name these columns (--columns),
    which the error for rows that are too wide suggests.
    """
    kinds = dict.fromkeys(names, kind or pa.string()) | dict.fromkeys(untyped, pa.string())
    delimiter = delimiter or find_delimiters(path, skip)[0]
    quoted = delimiter in QUOTING if quoted is None else quoted
    try:
        with _for_arrow(path) as source:
            source.seek(max(0, source.size() - KEPT))
            ends_in_quotes = quoted and source.read().rpartition(b"\n")[2].count(b'"') % 2
            source.seek(0)
            table = pa_csv.read_csv(
                source,
                read_options=pa_csv.ReadOptions(column_names=list(kinds), skip_rows=skip),
                parse_options=pa_csv.ParseOptions(
                    delimiter=delimiter, quote_char='"' if quoted else False, newlines_in_values=quoted
                ),
                convert_options=pa_csv.ConvertOptions(column_types=kinds, strings_can_be_null=False, null_values=[]),
            )
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            return pa.table({name: pa.array([], kind) for name, kind in kinds.items()})
        _explain(rows(path, skip, delimiter=delimiter, quoted=quoted), path, kinds, reason(error), free=free)
    text = [column for column in table.columns if quoted and pa.types.is_string(column.type)]
    if ends_in_quotes or any(pc.any(pc.match_substring_regex(column, "[\r\n]")).as_py() for column in text):
        # A quote that is never closed swallows the rows after it, or the end of the file, and Arrow lets it.
        deque(rows(path, skip, delimiter=delimiter, quoted=quoted), maxlen=0)
    return table


@contextmanager
def _for_arrow(path: Path) -> Iterator[pa.NativeFile]:
    """Open a text for Arrow, already unpacked: a Python error in Arrow's threads would end the process."""
    with _opened(path) as file:
        source = pa.OSFile(str(path))
        if _is_compressed(path):
            unpacked = pa.BufferOutputStream()
            for block in iter(lambda: file.read(BLOCK), b""):
                unpacked.write(block)
            source = pa.BufferReader(unpacked.getvalue())
        pa.enable_signal_handlers(enable=False)  # Arrow's handlers lose a signal that comes as a read ends
        try:
            yield source
        finally:
            pa.enable_signal_handlers(enable=True)


def _explain(walk: Iterator[Row], path: Path, kinds: Mapping[str, pa.DataType], why: str, *, free: bool) -> NoReturn:
    """Walk over the rows that Arrow could not read, and raise an error that names the first bad one."""
    expected = f"{len(kinds)} columns ({', '.join(kinds)})"
    for row in walk:
        if len(row.cells) != len(kinds):
            hint = _how_to_name(len(row.cells)) if free and len(row.cells) > len(kinds) else ""
            problem = f"{counted(len(row.cells), 'column')} where {expected} are expected."
            raise DatasetError(f"{path}, line {row.line}: {problem}{hint}")
        for (name, kind), cell in zip(kinds.items(), row.cells, strict=True):
            if pa.types.is_integer(kind) and not WHOLE_NUMBER.fullmatch(cell):
                raise DatasetError(f"{path}, line {row.line}: the {name} {cell[:40]!r} is not a whole number.")
    raise DatasetError(f"{path}: cannot be read as {expected}: {why}.")


def _how_to_name(width: int) -> str:
    """Say what to do about rows that are too wide for triples."""
    order = ",".join(["head", "relation", "tail", *"_" * (width - 3)])
    further = " Statements with qualifiers, as in WD50K, are not supported." * (width > 4)
    return (
        f" Say what each holds: --columns {order} (time, weight or label for _, which is unused), or a header.{further}"
    )


class Row(NamedTuple):
    """A row of a text file that is not blank."""

    line: int
    """where it begins, from 1"""
    end: int
    """the line where it ends: another one only where a quoted cell spans lines"""
    cells: list[str]


def rows(path: Path, skip: int = 0, *, delimiter: str | None = None, quoted: bool | None = None) -> Iterator[Row]:
    """Walk over the rows of a delimited text file, with their lines; slow, for headers and for what went wrong."""
    delimiter = delimiter or find_delimiters(path, skip)[0]
    quoted = delimiter in QUOTING if quoted is None else quoted
    line = skip + 1
    try:
        with open_text(path) as text:
            for end, cells in _cells(islice(_lines(path, text), skip, None), delimiter, quoted=quoted):
                row = Row(line, skip + end, cells)
                line = row.end + 1
                if any(map(UNDECODABLE.search, cells)):
                    raise DatasetError(
                        f"{path}, line {row.line}: not UTF-8 text. Convert it to UTF-8; unpack an archive."
                    )
                if cells:
                    yield row
    except csv.Error as error:
        raise DatasetError(f"{path}, line {line}: not a row of a text file ({error}).") from error


def _cells(lines: Iterator[str], delimiter: str, *, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the line in which each row ends, from 1, with its cells: none for a blank line."""
    if quoted:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        for cells in reader:
            yield reader.line_num, cells
    else:
        for number, line in enumerate(lines, 1):
            text = line.rstrip("\r\n")
            yield number, text.split(delimiter) if text else []


def further_columns(path: Path, named: int, skip: int = 0) -> list[str]:
    """Name the columns of the first row that come after the first ``named`` ones, by their numbers from 1."""
    return [str(number + 1) for number in range(named, len(next(rows(path, skip), Row(0, 0, [])).cells))]


def line_of(path: Path, row: int, skip: int = 0, *, delimiter: str | None = None) -> int:
    """Find the line in which a row begins, counted from 0 and without blank lines."""
    return next(islice(rows(path, skip, delimiter=delimiter), row, None)).line


def first_line(path: Path) -> str:
    """Read the first line of a text file (``.gz`` too), without its end."""
    with open_text(path) as text:
        return next(_lines(path, text), "").rstrip("\r\n")


def find_delimiters(path: Path, skip: int = 0) -> str:
    """Find what separates columns: the usual delimiter of the ending, or one that cuts the first rows more evenly.

    Others that cut them into as many columns, of three or more, follow it. Usual are commas in a ``.csv``, and in any
    other file tabs, or spaces where the first row has no tab.
    """
    with open_text(path) as text:
        filled = (line for line in islice(_lines(path, text), skip, None) if line.strip("\r\n"))
        lines = list(islice(filled, LOOKED_AT))
    if (path.with_suffix("") if _is_compressed(path) else path).suffix.lower() == ".csv":
        usual, others = ",", "\t;| "
    elif not lines or "\t" in lines[0]:
        return "\t"
    else:
        usual, others = " " if " " in lines[0] else "\t", ",;|"
    widths = {delimiter: _widths(lines, delimiter) for delimiter in others + usual}
    beside_blanks = "".join(it for it in others if all(f"{it} " in line or f" {it}" in line for line in lines))
    for least, order in (
        (3, (others[:1] if usual == "," else beside_blanks) + usual + others),
        (2, usual + others * (widths[usual] <= {1})),
    ):
        for delimiter in order:
            if len(widths[delimiter]) == 1 and min(widths[delimiter]) >= least:
                alike = (it for it in ",;|\t" if it != delimiter and widths.get(it) == widths[delimiter])
                return delimiter + "".join(alike if least > 2 else "")
    return usual


def _widths(lines: Sequence[str], delimiter: str) -> set[int]:
    """Return the numbers of columns that rows have; the last row may end inside quotes."""
    widths: set[int] = set()
    with suppress(csv.Error):
        widths.update(len(cells) for _, cells in _cells(iter(lines), delimiter, quoted=delimiter in QUOTING))
    return widths


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a text file that may be compressed; bytes that are not UTF-8 become lone surrogates."""
    with _opened(path) as file:
        yield io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a text file, and unpack it; refuse anything but files, and files too large for the memory."""
    refuse_missing(path)
    str(path).encode()  # raises for a name that is not UTF-8 text, which no result could hold
    with refusing(path, "cannot be read", OSError, EOFError, zlib.error, lzma.LZMAError):
        checked(path, times=4)  # bytes of memory for each byte of the text
        with _Unpacked(path) if _is_compressed(path) else path.open("rb") as file:
            yield cast(BinaryIO, file)


def refuse_missing(path: Path) -> None:
    """Refuse a path to no file, or to a special one such as a device."""
    refuse_special(path)
    if not exists_safely(path) or not path.is_file():
        raise DatasetError(no_file(path))


def _is_compressed(path: Path) -> bool:
    return path.suffix.lower() in COMPRESSED


class _Unpacked(io.RawIOBase):
    """A compressed text, which is unpacked while it is read; it is refused if it grows beyond its ``Budget``."""

    def __init__(self, path: Path) -> None:
        self._file = COMPRESSED[path.suffix.lower()](path)
        self._budget = Budget(path, times=MAX_COMPRESSION)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer)
        self._budget.take(count)
        return int(count)

    def close(self) -> None:
        self._file.close()
        super().close()


def _lines(path: Path, text: TextIO) -> Iterator[str]:
    blank = 0
    while line := text.readline(MAX_LINE):
        if len(line) == MAX_LINE:
            raise FileError(f"{path}: a line has more than {MAX_LINE} characters, too many for a text file.")
        blank = 0 if line.strip("\r\n") else blank + 1
        if blank > MAX_BLANK_LINES:
            raise FileError(f"{path}: it has more than {MAX_BLANK_LINES} blank lines in a row. It was refused.")
        yield line
