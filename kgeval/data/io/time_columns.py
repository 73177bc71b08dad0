"""Times of facts: the column of a file that holds them, and their labels in the order of time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError

TIME = ("time", "date", "timestamp")
"""What a column of times is called, the first being kgeval's own name."""

BEGIN, END = (
    {stem + suffix for stem in stems for suffix in ("", "_time", "_date", "time", "date")}
    for stems in (("begin", "start", "since", "valid_from"), ("end", "until", "valid_to", "valid_until"))
)
"""What columns of the two ends of an interval are called."""

NO_INTERVALS = (
    "Facts that hold over an interval of time, from a begin to an end, are not read: give each fact one time, or leave "
    "both columns out for a graph without times."
)

DATE = re.compile(r"\s*[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ].*)?)?\s*")
"""What tells a fourth column of times without a header: dates that sort as text."""


def read_times(path: str | Path, table: pa.Table) -> pa.ChunkedArray | None:
    """Take the column of times of a file of triples as text, if it has one.

    Raises
    ------
    DatasetError
        if two columns are the time or the ends of an interval, or one has empty cells or what is no time
    """
    ends = [name for name in table.column_names if name in BEGIN | END]
    if BEGIN & {*ends} and END & {*ends}:
        raise DatasetError(f"{path}: the columns {' and '.join(ends)} are an interval. {NO_INTERVALS}")
    names = [name for name in TIME if name in table.column_names]
    if not names:
        return None
    if len(names) > 1:
        raise DatasetError(f"{path}: {len(names)} columns are the time ({' and '.join(names)}). Keep one of them.")
    column = table[names[0]]
    values = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_floating(values) or pa.types.is_boolean(values):
        raise DatasetError(
            f"{path}: the column {names[0]} holds {column.type}: times are dates, text or whole numbers."
        )
    text = column.cast(pa.string())
    empty = pc.or_kleene(pc.is_null(text), pc.equal(text, "")).to_numpy()
    if empty.any():
        raise DatasetError(f"{path}, row {int(empty.argmax()) + 1}: the {names[0]} is empty: every fact has a time.")
    return text


def times_in_order(columns: Mapping[str, pa.ChunkedArray]) -> Vocabulary:
    """Label the times of all splits in their order: whole numbers by their value, all else as text, as dates sort.

    >>> list(times_in_order({"train": pa.chunked_array([["10", "9"]]), "test": pa.chunked_array([["11"]])}))
    ['9', '10', '11']
    """
    labels = pc.unique(pa.chunked_array([chunk for column in columns.values() for chunk in column.chunks], pa.string()))
    whole = pc.all(pc.match_substring_regex(labels, "^-?[0-9]{1,18}$"), min_count=0).as_py()
    order = pc.sort_indices(labels.cast(pa.int64()) if whole else labels)
    return Vocabulary(labels.take(order), "time")
