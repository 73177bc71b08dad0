"""Queries to predict: rows with a question mark, in Python or in a file, become ids, and then queries of each side.

``kgeval.predict`` and the option ``--queries`` read them here; ``ModelPredictions``, in ``predict.py``, answers them,
one side after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import InputError, naming, refusing
from kgeval.base.files import checked, exists_safely, no_file
from kgeval.data.columns import TRIPLE
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries
from kgeval.data.tables import read_triples
from kgeval.data.triples import Side, Triples
from kgeval.data.vocabulary import Vocabulary

MISSING = "?"

NO_IDS = np.empty(0, np.int64)

NUMBERS_OF_PARTS = (3, 4)
"""how many parts a query may have: head, relation, tail, and in a temporal graph a time"""

EXPECTED_QUERY = "a query is a triple with '?' in the place of head or tail, such as ('Rome', 'capital_of', '?')"

NO_RELATIONS = (
    "it asks for the relation, and only heads and tails are predicted (kgeval evaluate --sides relation ranks "
    "relations)"
)


def read_queries(queries: Iterable[Sequence[Any]], dataset: Dataset) -> IntArray:
    """Read queries as ids; int64[query, 3], −1 for the missing entity, or int64[query, 4] with times.

    Their rows are head, relation and tail: labels, with ``"?"`` or None for the missing entity, or ids, with −1 or None
    there; and in a temporal graph perhaps a time, the same number of parts in each row.

    >>> data = Dataset.from_labels(train=[("Rome", "capital_of", "Italy")])
    >>> read_queries([("Rome", "capital_of", "?"), (None, 0, 1)], data)
    array([[ 1,  0, -1],
           [-1,  0,  1]])
    """
    if (
        isinstance(queries, np.ndarray)
        and queries.dtype.kind in "iu"
        and queries.ndim == 2
        and queries.shape[1] in NUMBERS_OF_PARTS
    ):
        ids = queries.astype(np.int64)
    else:
        ids = _from_rows(queries, dataset)
    sizes = np.array([len(labels) for labels in _kinds(dataset, ids.shape[1])])
    missing = ids[:, :3] == -1
    wrong = (missing.sum(axis=1) != 1) | missing[:, 1] | ((ids < -1) | (ids >= sizes)).any(axis=1)
    wrong |= (ids[:, 3:] < 0).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        why = "it needs ids of the dataset, and -1 for the missing entity"
        _refuse(row, ids[row].tolist(), NO_RELATIONS if missing[row, 1] else why)
    return ids


def _from_rows(queries: Iterable[Sequence[Any]], dataset: Dataset) -> IntArray:
    if isinstance(queries, str) or not isinstance(queries, Iterable):
        raise InputError(f"queries are a list, not {queries!r:.60}: {EXPECTED_QUERY}.")
    rows = list(queries)
    for number, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Sequence | np.ndarray) or len(row) not in NUMBERS_OF_PARTS:
            _refuse(number, row, "it does not have three parts")
        if len(row) != len(rows[0]):
            _refuse(number, row, f"it has {len(row)} parts, and the first query {len(rows[0])}")
        if _is_missing(row[1]):
            _refuse(number, tuple(row), NO_RELATIONS)
        if _is_missing(row[0]) == _is_missing(row[2]) and not any(isinstance(part, int | np.integer) for part in row):
            count = "two entities are" if _is_missing(row[0]) else "no entity is"
            _refuse(number, tuple(row), f"{count} missing")
    if len(rows) == 0:
        return np.empty((0, 3), np.int64)
    kinds = _kinds(dataset, len(rows[0]))
    return np.stack([_ids([row[place] for row in rows], labels) for place, labels in enumerate(kinds)], axis=1)


def _is_missing(part: Any) -> bool:
    return part is None or (isinstance(part, str) and part == MISSING)


def _kinds(dataset: Dataset, parts: int) -> list[Vocabulary]:
    """Return the labels of each part of a query."""
    kinds = [dataset.entities, dataset.relations, dataset.entities]
    if parts == len(kinds):
        return kinds
    if dataset.times is None:
        raise InputError(f"the queries have a time, and the facts of {dataset.name} have none: {EXPECTED_QUERY}.")
    return [*kinds, dataset.times]


def _ids(cells: list[Any], labels: Vocabulary) -> IntArray:
    """Find the ids of labels; ids stay as they are, and what is missing becomes −1."""
    ids = np.full(len(cells), -1)
    named = [row for row, cell in enumerate(cells) if isinstance(cell, str) and cell != MISSING]
    ids[named] = labels.ids([cells[row] for row in named])
    for row in named:
        if ids[row] < 0:
            labels.id(cells[row])  # refuses it, and names the nearest
    for row, cell in enumerate(cells):
        if isinstance(cell, int | np.integer) and not isinstance(cell, bool):
            ids[row] = cell
        elif cell is not None and not isinstance(cell, str):
            _refuse(row, cell, "it is neither a label nor an id")
    return ids


def _refuse(number: int, row: Any, why: str) -> None:
    raise InputError(f"query {number}, {row!r:.80}: {why}; {EXPECTED_QUERY}.")


def read_query_file(path: str | Path, dataset: Dataset) -> IntArray:
    """Read queries as ids; int64[query, 3], −1 for the missing entity, or int64[query, 4] with times.

    The file is a table of head, relation and tail, by label, with ``?`` for the missing entity, and in a temporal graph
    perhaps a time; its columns are found as in files of triples. Or it is a ``.npy`` of int[query, 2], the head and the
    relation of queries about tails: labels of the dataset if all of these are numbers, or else ids.
    """
    path = Path(path)
    if not exists_safely(path):
        raise InputError(no_file(path))
    if path.suffix == ".npy":
        return _from_array(path, dataset)
    table = read_triples(path, fourth="time")
    times = table.times()
    columns = [table[role] for role in TRIPLE] + ([] if times is None else [times])
    with naming(path, InputError):
        return read_queries(list(zip(*(column.to_pylist() for column in columns), strict=True)), dataset)


def _from_array(path: Path, dataset: Dataset) -> IntArray:
    checked(path)
    with refusing(path, "not an array of numbers", OSError, ValueError, EOFError):
        pairs = np.load(path, allow_pickle=False)
    if not isinstance(pairs, np.ndarray) or pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        actual = f"{pairs.dtype} of shape {pairs.shape}" if isinstance(pairs, np.ndarray) else "several arrays"
        raise InputError(f"{path}: expected heads and relations, int[query, 2], found {actual}.")
    kinds = ((dataset.entities, 0), (dataset.relations, 1))
    heads, relations = (_ids_of(pairs[:, column], labels, path) for labels, column in kinds)
    return np.stack([heads, relations, np.full(len(pairs), -1)], axis=1)


def _ids_of(numbers: IntArray, labels: Vocabulary, path: Path) -> IntArray:
    """Find the ids of entities or relations by their numbers (``numbers_of``); int64[query]."""
    places = pc.index_in(pa.array(numbers.astype(np.int64)), pa.array(numbers_of(labels)))
    ids = np.asarray(places.fill_null(-1), np.int64)
    if (ids < 0).any():
        row = int(np.argmax(ids < 0))
        raise InputError(f"{path}, row {row}: the dataset has no {labels.kind} {int(numbers[row])}.")
    return ids


def numbers_of(labels: Vocabulary) -> IntArray:
    """Return each label as a number, or the ids if a label is no whole number; int64[id].

    >>> numbers_of(Vocabulary(["20", "7"])), numbers_of(Vocabulary(["Q42", "7"]))
    (array([20,  7]), array([0, 1]))
    """
    texts = list(labels)
    if all(text.isascii() and text.isdigit() and len(text) < 10 for text in texts):
        return np.array(texts, np.int64)
    return np.arange(len(texts))


@dataclass(frozen=True, eq=False)
class NumberedQueries:
    """Queries of one side, with the number that each query has in a prediction table."""

    queries: Queries
    numbers: IntArray
    """int64[query], the column ``query`` of a prediction table"""

    @classmethod
    def without_answers(cls, queries: Queries, numbers: IntArray) -> NumberedQueries:
        """Take queries as if nobody knew their answers: all offsets are 0."""
        offsets = np.zeros(len(queries) + 1, np.int64)
        return cls(replace(queries, offsets=offsets, answers=NO_IDS, triples=NO_IDS), numbers)

    def where(self, keep: BoolArray) -> NumberedQueries:
        """Keep the queries for which ``keep`` (bool[query]) holds."""
        return NumberedQueries(self.queries.where(keep), self.numbers[keep])


def queries_of_triples(triples: Triples, sides: Sequence[Side]) -> Iterator[NumberedQueries]:
    """Collect the distinct queries of triples, one side after the other, numbered from 0 over all sides."""
    count = 0
    for side in sides:
        queries = Queries.of(triples, side)
        yield NumberedQueries(queries, np.arange(count, count + len(queries)))
        count += len(queries)


def queries_of_rows(ids: IntArray) -> Iterator[NumberedQueries]:
    """Take rows of ids, int64[query, 3], with −1 in the place that is missing; a query keeps its number.

    In a temporal graph, the fourth column is the id of the time, which ``Queries`` calls a context.
    """
    times = ids[:, 3] if ids.shape[1] > 3 else None
    sides: tuple[tuple[Side, int], ...] = (("head", 0), ("tail", 2))
    for side, place in sides:
        rows = np.flatnonzero(ids[:, place] < 0)
        if len(rows):
            rows = rows[np.lexsort((*ids[rows, 3:].T, ids[rows, 2 - place], ids[rows, 1]))]
            contexts = None if times is None else times[rows]
            queries = Queries(side, ids[rows, 2 - place], ids[rows, 1], NO_IDS, NO_IDS, NO_IDS, contexts=contexts)
            yield NumberedQueries.without_answers(queries, rows)


def as_triples(parts: Sequence[NumberedQueries]) -> Triples:
    """Make a triple for each query, with its anchor on both sides: ``engine_choice`` measures the work by triples."""
    asked = [part.queries for part in parts]
    ids = [np.stack([it.anchors, it.relations, it.anchors], axis=1) for it in asked]
    return Triples.concatenated([Triples(rows, it.contexts) for rows, it in zip(ids, asked, strict=True)])
