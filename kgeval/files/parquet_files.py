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
"""the most bytes in memory, as a multiple of the size of the file"""

ROWS, CODED_ROWS = 2**14, 2**20
"""rows of a batch, and of a batch with dictionary-encoded columns, where each batch repeats the dictionary"""


def read_parquet(path: Path) -> pa.Table:
    """Read the columns of text and numbers; nested columns are left out.

    Raises
    ------
    FileError
        if it is no regular file, or its columns are too large for its size
    ArrowException, OSError, ValueError
        if it is missing or damaged
    """
    checked(path)
    # Not read_table, which makes a column of a folder named key=value, and fails for repeated column names.
    with pq.ParquetFile(path) as file:
        metadata, schema = file.metadata, file.schema_arrow
        groups = (metadata.row_group(group) for group in range(metadata.num_row_groups))
        Budget(path, times=MAX_EXPANSION).take(sum(group.total_byte_size for group in groups))
        flat = [f for f in schema if not pa.types.is_nested(f.type) and not pa.types.is_fixed_size_binary(f.type)]
        coded = any(pa.types.is_dictionary(field.type) for field in flat)
        rows = min(CODED_ROWS if coded else ROWS, max(1, LEAST // max(1, _longest(path, flat))))
        budget, pieces = Budget(path, times=MAX_EXPANSION), []
        columns = None if len(flat) == len(schema) else [field.name for field in flat]
        for piece in file.iter_batches(rows, columns=columns, use_threads=False):
            budget.take(sum(map(_decoded_size, piece.columns)))
            pieces.append(piece)
    return pa.Table.from_batches(pieces, None if pieces else pa.schema(flat)).replace_schema_metadata(schema.metadata)


def _decoded_size(column: pa.Array) -> int:
    """Return the bytes of a column without its dictionary encoding."""
    if not pa.types.is_dictionary(column.type) or pa.types.is_primitive(column.type.value_type):
        return int(column.nbytes)
    return pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0


def _longest(path: Path, fields: list[Any]) -> int:
    """Return the length of the longest text in the dictionaries of dictionary-encoded columns."""
    texts = [field.name for field in fields if not pa.types.is_primitive(field.type)]
    longest = 0
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for group in range(file.metadata.num_row_groups if texts else 0):
            first = next(file.iter_batches(1, row_groups=[group], columns=texts, use_threads=False), None)
            for column in first.columns if first is not None else ():
                if pa.types.is_dictionary(column.type) and not pa.types.is_primitive(column.type.value_type):
                    longest = max(longest, pc.max(pc.binary_length(column.dictionary)).as_py() or 0)
    return longest
