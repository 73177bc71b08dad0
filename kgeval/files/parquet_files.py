"""Parquet files, read in batches within a budget: a few bytes may decode to many rows of long texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kgeval.files.budget import LEAST, Budget
from kgeval.files.opening import checked

MAX_EXPANSION = 100
"""how many times its size a file may have in memory"""

ROWS, CODED_ROWS = 2**14, 2**20
"""how many rows are read at a time, and how many where every piece repeats the texts that it has codes for"""


def read_parquet(path: Path) -> pa.Table:
    """Read the columns of text and numbers; those of lists and blocks, which nothing here is, are left aside.

    Raises
    ------
    FileError
        if it is no file of data, or unfolds out of proportion
    ArrowException, OSError, ValueError
        if it is missing or damaged
    """
    checked(path)
    # The file alone: to read_table, a folder that is called key=value is a column, and repeated names are too much.
    with pq.ParquetFile(path) as file:
        metadata, schema = file.metadata, file.schema_arrow
        groups = (metadata.row_group(group) for group in range(metadata.num_row_groups))
        Budget(path, times=MAX_EXPANSION).take(sum(group.total_byte_size for group in groups))
        flat = [field for field in schema if _is_flat(field.type)]
        coded = any(pa.types.is_dictionary(field.type) for field in flat)
        rows = min(CODED_ROWS if coded else ROWS, max(1, LEAST // max(1, _longest(path, flat))))
        budget, pieces = Budget(path, times=MAX_EXPANSION), []
        columns = None if len(flat) == len(schema) else [field.name for field in flat]
        for piece in file.iter_batches(rows, columns=columns, use_threads=False):
            budget.take(sum(map(_decoded_size, piece.columns)))
            pieces.append(piece)
    return pa.Table.from_batches(pieces, None if pieces else pa.schema(flat)).replace_schema_metadata(schema.metadata)


def _decoded_size(column: pa.Array) -> int:
    """Count the bytes of a column whose texts stand in every row, though they may be kept as codes."""
    if not pa.types.is_dictionary(column.type) or pa.types.is_primitive(column.type.value_type):
        return int(column.nbytes)
    return pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0


def _is_flat(kind: Any) -> bool:
    return not pa.types.is_nested(kind) and not pa.types.is_fixed_size_binary(kind)


def _longest(path: Path, fields: list[Any]) -> int:
    """Find the length of the longest text that a code stands for, without a row being made of it."""
    texts = [field.name for field in fields if not pa.types.is_primitive(field.type)]
    longest = 0
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for group in range(file.metadata.num_row_groups if texts else 0):
            first = next(file.iter_batches(1, row_groups=[group], columns=texts, use_threads=False), None)
            for column in first.columns if first is not None else ():
                if pa.types.is_dictionary(column.type) and not pa.types.is_primitive(column.type.value_type):
                    longest = max(longest, pc.max(pc.binary_length(column.dictionary)).as_py() or 0)
    return longest
