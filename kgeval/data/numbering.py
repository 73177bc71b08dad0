"""Number labelled triples: from tables of labels to vocabularies, and triples of ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.arrays import IntArray
from kgeval.data.labelled_triples import CONFIDENCE, read_column_ids, read_confidences
from kgeval.data.triple_files import TIME, TRIPLE, columns, is_header, read_times, times_in_order
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError, reason


def encode(columns: Sequence[pa.ChunkedArray]) -> tuple[list[npt.NDArray[np.int32]], pa.Array]:
    """Number the distinct labels of string columns without nulls, over all columns, by their first occurrence.

    Returns the code of each row, int32[row], column by column, and string[code].
    """
    chunks = [chunk for column in columns for chunk in column.chunks]
    encoded = pa.chunked_array(chunks, pa.string()).dictionary_encode()  # its chunks have one dictionary
    codes = np.concatenate([np.empty(0, np.int32), *(np.asarray(chunk.indices) for chunk in encoded.chunks)])
    labels = encoded.chunk(0).dictionary if encoded.num_chunks else pa.array([], pa.string())
    return np.split(codes, np.cumsum([len(column) for column in columns])[:-1]), labels


def number(
    tables: Mapping[str, pa.Table],
    sources: Mapping[str, str | Path],
    *,
    entities: Vocabulary | None = None,
    relations: Vocabulary | None = None,
) -> dict[str, Any]:
    """Give ids to the labels of a graph, and return the parts of it that ``Dataset.build`` takes.

    Ids follow the sorted labels of the first split, then those that occur only in the others: the ids that PyKEEN
    gives. Given vocabularies are used as they are. ``tables`` have, by split, string columns head, relation, tail, and
    perhaps one of confidences or times; ``sources`` name each split in messages.
    """
    ids: dict[str, IntArray] = {split: np.empty((table.num_rows, 3), np.int64) for split, table in tables.items()}
    entities = _numbered("entity", entities, ("head", "tail"), tables, sources, ids)
    relations = _numbered("relation", relations, ("relation",), tables, sources, ids)
    confidences = _of_all_splits("confidences", "a fourth column", read_confidences, tables, sources)
    found = _of_all_splits("times", "its", read_times, tables, sources)
    times = times_in_order(found) if found else None
    splits = {split: Triples(rows, None if times is None else times.ids(found[split])) for split, rows in ids.items()}
    parts = {"splits": splits, "entities": entities, "relations": relations}
    return {**parts, "confidences": confidences, "times": times}


def _of_all_splits(
    what: str,
    need: str,
    read: Callable[[str | Path, pa.Table], Any],
    tables: Mapping[str, pa.Table],
    sources: Mapping[str, str | Path],
) -> dict[str, Any]:
    """Read a column that all splits have or none."""
    columns = {split: read(sources[split], table) for split, table in tables.items()}
    found = {split: column for split, column in columns.items() if column is not None}
    for split in columns if found else ():
        if split not in found:
            having = Path(sources[next(iter(found))]).name
            raise DatasetError(f"{sources[split]}: no {what}, but {having} has them. Give every split {need}.")
    return found


def as_table(rows: Any, source: str) -> pa.Table:
    """Lay labelled triples in memory out as the table that a file of them would be; ``source`` names it in messages.

    Rows may have a confidence, or a time as text. The columns of a data frame are found by their names, in any order,
    or else by their positions.
    """
    names, listed = _rows(rows, source)
    cells = dict(zip(names, zip(*listed, strict=True), strict=True)) if listed else dict.fromkeys(names, ())
    table = {name: _labels(cells[name], name, source) for name in TRIPLE}
    for name in names:
        if name in TIME:
            table[name] = _labels([str(cell) if isinstance(cell, int) else cell for cell in cells[name]], name, source)
        if name not in CONFIDENCE:
            continue
        try:
            table[name] = pa.array(cells[name], pa.float64())
        except (pa.ArrowException, TypeError) as error:
            raise DatasetError(
                f"{source}: the column {name} has a cell that is not a number ({reason(error)})."
            ) from error
    return pa.table(table)


def _rows(rows: Any, source: str) -> tuple[list[str], list[Any]]:
    names: list[str] = []
    if isinstance(rows, pa.Table):
        rows = rows.to_pandas()
    if hasattr(rows, "columns") and hasattr(rows, "to_numpy"):  # a data frame, of pandas or polars
        names, rows = [str(name) for name in rows.columns], rows.to_numpy()
    try:
        listed = [row if isinstance(row, str) else tuple(row) for row in rows]
    except TypeError as error:
        raise DatasetError(f"{source}: expected rows of head, relation, tail, found {rows!r:.60}.") from error
    first = listed[0] if listed else ()
    fourth = [(TIME if isinstance(first[3], str) else CONFIDENCE)[0]] if len(first) == 4 else []
    names = columns(source, names) if is_header(names) else [*TRIPLE, *fourth]
    for row, cells in enumerate(listed):
        if isinstance(cells, str) or len(cells) != len(names):
            raise DatasetError(f"{source}, row {row + 1}: expected {', '.join(names)}, found {cells!r:.60}.")
    return names, listed


def _labels(column: Sequence[Any], name: str, source: str) -> pa.Array:
    for row, label in enumerate(column):
        if not isinstance(label, str):
            raise DatasetError(
                f"{source}, row {row + 1}: the {name} is {label!r:.60} of type {type(label).__name__}: labels are "
                "text. Give str(label) of each; for triples of ids, call Dataset.build."
            )
    try:
        return pa.array(column, pa.string())
    except UnicodeEncodeError as error:
        raise DatasetError(f"{source}: the {name} {error.object!r} is not Unicode text ({error.reason}).") from error


def _numbered(
    kind: str,
    labels: Vocabulary | None,
    columns: Sequence[str],
    tables: Mapping[str, pa.Table],
    sources: Mapping[str, str | Path],
    ids: Mapping[str, IntArray],
) -> Vocabulary:
    """Fill in the ids of some columns by given labels, or else by the sorted labels of the first split, then others."""
    places = [(split, column) for split in tables for column in columns]
    if labels is not None:
        for split, column in places:
            ids[split][:, TRIPLE.index(column)] = read_column_ids(sources[split], tables[split], column, labels)
        return labels
    codes, found = encode([tables[split][column] for split, column in places])
    known = 1 + max(int(column.max(initial=-1)) for column in codes[: len(columns)])
    parts = (np.asarray(pc.sort_indices(part), np.int64) for part in (found[:known], found[known:]))
    order = np.concatenate([start + part for start, part in zip((0, known), parts, strict=True)])
    id_of_code = np.empty(len(order), np.int32)
    id_of_code[order] = np.arange(len(order), dtype=np.int32)
    for (split, column), rows in zip(places, codes, strict=True):
        ids[split][:, TRIPLE.index(column)] = id_of_code[rows]
    return Vocabulary.of_distinct(found.take(pa.array(order)), kind)
