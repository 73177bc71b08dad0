"""Files of labelled triples, text or Parquet: the columns head, relation and tail, in any order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kgeval.data.io.headers import TRIPLE, columns, is_header
from kgeval.data.io.id_files import UNIT_SEPARATOR
from kgeval.data.io.text import line_of, read_columns, rows
from kgeval.data.io.time_columns import DATE, NO_INTERVALS, TIME
from kgeval.errors import DatasetError, reason
from kgeval.files.opening import refuse_special
from kgeval.files.parquet_files import read_parquet
from kgeval.paths import exists_safely, no_file

NO_LABELS = (pa.types.is_floating, pa.types.is_boolean, pa.types.is_temporal, pa.types.is_decimal)
"""Types that Arrow would spell in its own way: text and whole numbers are labels, these are not."""

YEAR = re.compile("[0-9]{4}|##")
"""What tells a fourth and a fifth column of times: a year, or YAGO's sign for what is not known of a date."""

NUMBER = re.compile(r"\s*[-+]?[0-9.]+(e[-+]?[0-9]+)?\s*", re.IGNORECASE)
"""What tells a column of confidences from a fourth label."""

N_TRIPLE = (
    r"\s*(?P<head><[^<>]*>|_:\S+)\s*(?P<relation><[^<>]*>)"
    r'\s*(?P<tail><[^<>]*>|_:\S+?|".*"[^\s"]*)\s*\.\s*(?:#.*)?'
)
"""A line of the W3C's N-Triples: subject, predicate, object (a literal perhaps) and a full stop."""


def read_triples(path: Path) -> pa.Table:
    """Read a file of labelled triples: text (``.txt``, ``.tsv``, ``.csv``, ``.nt``, each also ``.gz``) or ``.parquet``.

    Text whose first line is one of N-Triples is read as such, and so is ``.nt``.
    The columns of Parquet files, and of text with a header, are told apart by their names, in any order; those of text
    without a header are head, relation, tail, and perhaps a confidence or a date.

    Returns
    -------
    pyarrow.Table
        string columns head, relation, tail, and further ones that the file names; of text without a header, a fourth
        column ``confidence`` where its first row ends in a number, or ``time`` where it ends in a date

    Raises
    ------
    DatasetError
        if the file is missing, empty or malformed, with the line where there is one
    """
    table = _read_parquet(path) if path.suffix.lower() == ".parquet" else _read_text(path)
    if table.num_rows == 0:
        raise DatasetError(f"{path}: no triples in it. Expected rows of head, relation, tail.")
    return table


def _read_text(path: Path) -> pa.Table:
    first = next(rows(path), None)
    if first is not None and (_is_n_triples(path) or re.fullmatch(N_TRIPLE, " ".join(first.cells))):
        return _read_n_triples(path)
    if first is not None and is_header(first.cells):
        return read_columns(path, columns(path, first.cells), skip=first.end)
    if first is not None and len(first.cells) == 5 and any(map(YEAR.search, first.cells[3:])):
        raise DatasetError(f"{path}, line {first.line}: 5 columns, the last of a time. {NO_INTERVALS}")
    return read_columns(path, [*TRIPLE, *_fourth(first.cells if first is not None else ())])


def _is_n_triples(path: Path) -> bool:
    return path.name.lower().endswith((".nt", ".nt.gz"))


def _read_n_triples(path: Path) -> pa.Table:
    """Read lines of N-Triples: an IRI is a label without its brackets; blank nodes and literals are as they stand."""
    lines = read_columns(path, ["line"], delimiter=UNIT_SEPARATOR)["line"]
    comments = pc.match_substring_regex(lines, r"^\s*(#|$)")
    cells = pc.extract_regex(lines, f"^{N_TRIPLE}$").combine_chunks()
    damaged = np.asarray(pc.and_(cells.is_null(), pc.invert(comments.combine_chunks())))
    if damaged.any():
        line = line_of(path, int(np.argmax(damaged)), delimiter=UNIT_SEPARATOR)
        raise DatasetError(f"{path}, line {line}: expected a line of N-Triples, '<subject> <predicate> <object> .'.")
    columns = cells.drop_null().flatten()
    return pa.table(
        {
            name: pc.replace_substring_regex(column, r"^<(.*)>$", r"\1")
            for name, column in zip(TRIPLE, columns, strict=True)
        }
    )


def _fourth(cells: Sequence[str]) -> list[str]:
    """Name the fourth column of a row: a number is a confidence, a date a time; any other is none."""
    kinds = ((NUMBER, "confidence"), (DATE, TIME[0]))
    return [name for pattern, name in kinds if len(cells) == 4 and pattern.fullmatch(cells[3])]


def _read_parquet(path: Path) -> pa.Table:
    refuse_special(path)
    if not exists_safely(path) or not path.is_file():
        raise DatasetError(no_file(path))
    try:
        table = read_parquet(path)
        nested = [field for field in pq.read_schema(path) if field.name not in table.column_names]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DatasetError(f"{path}: not a readable Parquet file ({reason(error)}).") from error
    for field in nested:
        if field.name in (*TRIPLE, "side", "confidence"):
            raise DatasetError(f"{path}: the column {field.name} holds {field.type}, not text or numbers.")
    table = table.rename_columns(columns(path, table.column_names))
    for name in TRIPLE:
        table = table.set_column(table.column_names.index(name), name, _as_text(path, name, table.column(name)))
    return table


def _as_text(path: Path, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    values = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if any(holds(values) for holds in NO_LABELS):
        raise DatasetError(f"{path}: the column {name} holds {column.type}, not text.")
    try:
        text = column.cast(pa.string())
    except pa.ArrowException as error:
        raise DatasetError(f"{path}: the column {name} holds {column.type}, not text.") from error
    if text.null_count:
        raise DatasetError(f"{path}: the column {name} has empty cells.")
    return text
