"""Number labelled triples: from tables of labels to vocabularies, and triples of ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.io.triple_files import TIME, TRIPLE, columns, is_header, read_times, times_in_order
from kgeval.data.labelled_triples import CONFIDENCE, read_column_ids, read_confidences
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError, reason


class LabelCodes(NamedTuple):
    """The distinct labels of some columns, and where they stand."""

    columns: list[npt.NDArray[np.int32]]
    """the code of each row, int32[row], column by column"""
    labels: pa.Array
    """string[code], by their first occurrence"""


def encode(columns: Sequence[pa.ChunkedArray]) -> LabelCodes:
    """Number the distinct labels of string columns without nulls, over all columns.

    >>> encode([pa.chunked_array([["b", "a"], ["b"]]), pa.chunked_array([["c", "a"]])])
    LabelCodes(columns=[array([0, 1, 0], dtype=int32), array([2, 1], dtype=int32)], labels=<pyarrow...StringArray ...>
    [
      "b",
      "a",
      "c"
    ])
    """
    chunks = [chunk for column in columns for chunk in column.chunks]
    encoded = pa.chunked_array(chunks, pa.string()).dictionary_encode()  # its chunks have one dictionary
    codes = np.concatenate([np.empty(0, np.int32), *(np.asarray(chunk.indices) for chunk in encoded.chunks)])
    labels = encoded.chunk(0).dictionary if encoded.num_chunks else pa.array([], pa.string())
    return LabelCodes(np.split(codes, np.cumsum([len(column) for column in columns])[:-1]), labels)


class NumberedGraph(NamedTuple):
    """The splits of a graph, as ids."""

    entities: Vocabulary
    relations: Vocabulary
    splits: dict[str, Triples]
    confidences: dict[str, Float64Array]
    """of a weighted graph, those of the rows of each split; float64[row]"""
    times: Vocabulary | None
    """of a temporal graph, the label of each context"""


def number(
    tables: Mapping[str, pa.Table],
    sources: Mapping[str, str | Path],
    *,
    entities: Vocabulary | None = None,
    relations: Vocabulary | None = None,
) -> NumberedGraph:
    """Give ids to the labels of a graph.

    Ids follow the sorted labels of the first split, then those that occur only in the others: the ids that PyKEEN
    gives.

    ``tables`` have, by split, string columns head, relation, tail, and perhaps one of confidences or times;
    ``sources`` name each split in messages. Given vocabularies are used as they are.
    """
    ids: dict[str, IntArray] = {split: np.empty((table.num_rows, 3), np.int64) for split, table in tables.items()}
    if entities is None:
        entities = _number_columns("entity", tables, ("head", "tail"), ids)
    else:
        _find_columns(entities, tables, ("head", "tail"), ids, sources)
    if relations is None:
        relations = _number_columns("relation", tables, ("relation",), ids)
    else:
        _find_columns(relations, tables, ("relation",), ids, sources)
    found = {split: read_confidences(sources[split], table) for split, table in tables.items()}
    confidences = {split: labels for split, labels in found.items() if labels is not None}
    if confidences and len(confidences) < len(tables):
        bare, weighted = next(split for split in tables if split not in confidences), next(iter(confidences))
        raise DatasetError(
            f"{sources[bare]}: no confidences, but {Path(sources[weighted]).name} has them: "
            "give every split a fourth column."
        )
    triples = {split: Triples(rows) for split, rows in ids.items()}
    times, splits = _with_times(tables, sources, triples)
    return NumberedGraph(entities, relations, splits, confidences, times)


def _with_times(
    tables: Mapping[str, pa.Table], sources: Mapping[str, str | Path], splits: Mapping[str, Triples]
) -> tuple[Vocabulary | None, dict[str, Triples]]:
    columns = {split: read_times(sources[split], table) for split, table in tables.items()}
    found = {split: column for split, column in columns.items() if column is not None}
    if not found:
        return None, dict(splits)
    if len(found) < len(columns):
        bare, timed = next(split for split in columns if split not in found), next(iter(found))
        raise DatasetError(
            f"{sources[bare]}: no times, but {Path(sources[timed]).name} has them: give every split its."
        )
    times = times_in_order(found)
    return times, {split: replace(triples, contexts=times.ids(found[split])) for split, triples in splits.items()}


def as_table(rows: Any, source: str) -> pa.Table:
    """Lay labelled triples in memory out as the table that a file of them would be.

    Rows may have a confidence, or a time as text. The columns of a data frame are found by their names, in any order,
    or else by their positions. ``source`` names them in messages.

    Examples
    --------
    >>> as_table([("a", "likes", "b"), ("b", "likes", "a")], "train").to_pydict()
    {'head': ['a', 'b'], 'relation': ['likes', 'likes'], 'tail': ['b', 'a']}
    """
    names, listed = _rows(rows, source)
    cells = dict(zip(names, zip(*listed, strict=True), strict=True)) if listed else dict.fromkeys(names, ())
    table = {name: _labels(cells[name], name, source) for name in TRIPLE}
    for name in (name for name in names if name in CONFIDENCE):
        try:
            table[name] = pa.array(cells[name], pa.float64())
        except (pa.ArrowException, TypeError) as error:
            raise DatasetError(f"{source}: the column {name} holds what is no number ({reason(error)}).") from error
    for name in (name for name in names if name in TIME):
        table[name] = _labels([str(cell) if isinstance(cell, int) else cell for cell in cells[name]], name, source)
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


def _number_columns(
    kind: str, tables: Mapping[str, pa.Table], columns: Sequence[str], ids: Mapping[str, IntArray]
) -> Vocabulary:
    """Give ids to the sorted labels of the first split, then to the further labels of the others; fill in the ids."""
    places = [(split, column) for split in tables for column in columns]
    codes, labels = encode([tables[split][column] for split, column in places])
    known = 1 + max(int(column.max(initial=-1)) for column in codes[: len(columns)])
    parts = (np.asarray(pc.sort_indices(part), np.int64) for part in (labels[:known], labels[known:]))
    order = np.concatenate([start + part for start, part in zip((0, known), parts, strict=True)])
    id_of_code = np.empty(len(order), np.int32)
    id_of_code[order] = np.arange(len(order), dtype=np.int32)
    for (split, column), rows in zip(places, codes, strict=True):
        ids[split][:, TRIPLE.index(column)] = id_of_code[rows]
    return Vocabulary.of_distinct(labels.take(pa.array(order)), kind)


def _find_columns(
    labels: Vocabulary,
    tables: Mapping[str, pa.Table],
    columns: Sequence[str],
    ids: Mapping[str, IntArray],
    sources: Mapping[str, str | Path],
) -> None:
    for split, table in tables.items():
        for column in columns:
            ids[split][:, TRIPLE.index(column)] = read_column_ids(sources[split], table, column, labels)
