"""Ranks that another tool wrote into a Parquet file: its columns as text, as those of a text file are read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kgeval.data.text import refuse_missing
from kgeval.errors import TableError, reason
from kgeval.files.containers import read_parquet
from kgeval.ranking.rank_table import COUNTS


def holds_foreign_ranks(path: Path) -> bool:
    """Whether it is a readable Parquet file, and none of kgeval's, which have counts in the place of ranks."""
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return False
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError, ValueError):
        return False
    is_own = any(key.startswith(b"kgeval") for key in schema.metadata or {})
    return not is_own and not {*COUNTS} <= {*schema.names}


def read_as_text(path: Path) -> pa.Table:
    """Read the columns of a Parquet file as text; an empty cell is empty text, and a nested column is left out.

    Raises
    ------
    TableError
        if it is not readable, or kgeval's own
    """
    refuse_missing(path)
    try:
        table = read_parquet(path)
        if {*COUNTS} <= {*table.column_names}:
            raise TableError(f"{path}: kgeval's own ranks. RankTable.from_parquet reads them.")
        text = {name: _as_text(table[name]) for name in table.column_names if not pa.types.is_nested(table[name].type)}
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TableError(f"{path}: not a readable Parquet file of ranks ({reason(error)}).") from error
    return pa.table(text)


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return pc.fill_null(column.cast(pa.string()), "")
