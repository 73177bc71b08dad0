"""Read delimited text and Parquet files into columns, naming the line of the first bad row."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NoReturn

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from kgeval.errors import DatasetError, nearest

TRIPLE = ("head", "relation", "tail")

HEADERS = (TRIPLE, ("h", "r", "t"), ("subject", "predicate", "object"), ("subject", "relation", "object"))
"""First lines that are a header of triples rather than a triple."""


def read_triples(path: Path) -> pa.Table:
    """Read a file of labelled triples: text (``.txt``, ``.tsv``, ``.csv``, each also ``.gz``) or ``.parquet``.

    Returns
    -------
    pyarrow.Table
        string columns head, relation, tail (for Parquet and for text with a header: every column that is there; for
        text without one whose rows end in a fourth cell, a number: a column ``confidence``)

    Raises
    ------
    DatasetError
        if the file is missing, empty or malformed, with the line where there is one
    """
    if path.suffix == ".parquet":
        return _read_parquet(path)
    header = [cell.strip().lower() for cell in _first_cells(path)]
    if tuple(header[:3]) in HEADERS:
        table = read_columns(path, [*TRIPLE, *header[3:]], skip=1)
    else:
        table = read_columns(path, [*TRIPLE, "confidence"] if _ends_in_number(header) else TRIPLE)
    if table.num_rows == 0:
        raise DatasetError(f"{path}: no triples in it. Expected rows of head, relation, tail.")
    return table


def read_columns(path: Path, names: Sequence[str], *, skip: int = 0, kind: pa.DataType | None = None) -> pa.Table:
    """Read a delimited text file (``.gz`` too) in which every row has the named columns.

    Parameters
    ----------
    path
        the file; comma-separated if it is a ``.csv``, otherwise separated by tabs, or by spaces where its first row has
        no tab
    names
        the columns, in their order in the file
    skip
        how many lines precede the first row
    kind
        the type of every column; by default strings, taken to the letter: nothing is null, and only a ``.csv`` has
        quotes

    Raises
    ------
    DatasetError
        with the line of the first row that has another number of columns, or a value of another type
    """
    kind = kind or pa.string()
    delimiter = _delimiter(path, skip)
    try:
        return pa_csv.read_csv(
            path,
            read_options=pa_csv.ReadOptions(column_names=list(names), skip_rows=skip),
            parse_options=pa_csv.ParseOptions(delimiter=delimiter, quote_char='"' if delimiter == "," else False),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, kind), strings_can_be_null=False, null_values=[]
            ),
        )
    except (pa.ArrowInvalid, OSError) as error:
        if "Empty CSV" in str(error):
            return pa.table({name: pa.array([], kind) for name in names})
        _explain(path, names, skip, str(error))


def first_line(path: Path, skip: int = 0) -> str:
    """Read one line of a text file (``.gz`` too), without its end."""
    try:
        with open_text(path) as lines:
            for _ in range(skip):
                lines.readline()
            return lines.readline().decode("utf-8-sig", errors="replace").rstrip("\r\n")
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(f"{path}: cannot be read ({_reason(error)}).") from error


def open_text(path: Path) -> IO[bytes]:
    """Open a file that may be compressed."""
    if not is_there(path) or not path.is_file():
        raise DatasetError(f"no such file {str(path)!r}. {nearby(path)}".strip())
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def is_there(path: Path) -> bool:
    """Whether there is a file or a folder; no path is too odd to ask about.

    >>> is_there(Path("x" * 5000))
    False
    """
    try:
        return path.is_file() or path.is_dir()
    except (OSError, ValueError):
        return False


def nearby(path: Path) -> str:
    """Name the neighbours that a mistaken path may have meant.

    >>> nearby(Path("no/such/folder"))
    ''
    """
    parent = path.parent
    if not is_there(parent) or not parent.is_dir():
        return ""
    near = {entry.name: entry for entry in parent.iterdir() if not entry.name.startswith(".")}
    names = nearest(path.name, near)
    return f"Nearby: {', '.join(repr(str(near[name])) for name in names)}." if names else ""


def _delimiter(path: Path, skip: int = 0) -> str:
    if ".csv" in path.suffixes:
        return ","
    return "\t" if "\t" in (line := first_line(path, skip)) or " " not in line else " "


def _ends_in_number(cells: Sequence[str]) -> bool:
    """Whether a row is a triple and a number."""
    return len(cells) == 4 and re.fullmatch(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?", cells[3]) is not None


def _first_cells(path: Path) -> list[str]:
    return first_line(path).split(_delimiter(path))


def _read_parquet(path: Path) -> pa.Table:
    if not is_there(path) or not path.is_file():
        raise DatasetError(f"no such file {str(path)!r}. {nearby(path)}".strip())
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise DatasetError(f"{path}: not a readable Parquet file ({_reason(error)}).") from error
    if not set(TRIPLE) <= set(table.column_names):
        if table.num_columns != 3:
            found = ", ".join(table.column_names)
            raise DatasetError(f"{path}: expected the columns head, relation, tail; found {found}.")
        table = table.rename_columns(list(TRIPLE))
    if table.num_rows == 0:
        raise DatasetError(f"{path}: no triples in it.")
    for name in TRIPLE:
        index = table.column_names.index(name)
        try:
            table = table.set_column(index, name, table.column(name).cast(pa.string()))
        except pa.ArrowException as error:
            raise DatasetError(f"{path}: the column {name} holds {table.column(name).type}, not text.") from error
        if table.column(name).null_count:
            raise DatasetError(f"{path}: the column {name} has empty cells.")
    return table


def _explain(path: Path, names: Sequence[str], skip: int, reason: str) -> NoReturn:
    """Find the first line that cannot be read, and say so."""
    delimiter = _delimiter(path, skip).encode()
    expected = f"{len(names)} columns ({', '.join(names)})"
    try:
        with open_text(path) as lines:
            for number, line in enumerate(lines, 1):
                cells = line.rstrip(b"\r\n").split(delimiter)
                if number <= skip or cells == [b""]:
                    continue
                if len(cells) != len(names):
                    raise DatasetError(f"{path}, line {number}: {len(cells)} columns where {expected} are expected.")
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise DatasetError(f"{path}, line {number}: not UTF-8 text. Convert the file to UTF-8.") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = _reason(error)
    raise DatasetError(f"{path}: cannot be read as {expected}: {reason}.")


def _reason(error: BaseException) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
