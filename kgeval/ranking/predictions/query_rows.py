"""Queries as people write them: triples of labels or ids with a question mark in the place of an entity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.arrays import BoolArray, IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries
from kgeval.data.triples import Side, Triples
from kgeval.errors import InputError

MISSING = "?"

EXPECTED = "a query is a triple with '?' in the place of head or tail, such as ('Rome', 'capital_of', '?')"


@dataclass(frozen=True, eq=False)
class NumberedQueries:
    """Queries of one side, and the number of each."""

    queries: Queries
    numbers: IntArray
    """int64[query]"""

    def where(self, keep: BoolArray) -> NumberedQueries:
        """Keep the queries for which ``keep`` (bool[query]) holds."""
        return NumberedQueries(self.queries.where(keep), self.numbers[keep])


def queries_of_split(dataset: Dataset, split: str, sides: Sequence[Side]) -> Iterator[NumberedQueries]:
    """Collect the distinct queries of a split, numbered one side after the other."""
    count = 0
    for side in sides:
        queries = Queries.of(dataset.split(split), side)
        yield NumberedQueries(queries, np.arange(count, count + len(queries)))
        count += len(queries)


def queries_of_rows(ids: IntArray) -> Iterator[NumberedQueries]:
    """Take rows of ids, int64[query, 3], with −1 in the place that is missing; a query keeps its number."""
    sides: tuple[tuple[Side, int], ...] = (("head", 0), ("tail", 2))
    for side, place in sides:
        rows = np.flatnonzero(ids[:, place] < 0)
        if len(rows):
            anchors, relations = ids[rows, 2 - place], ids[rows, 1]
            order = np.lexsort((anchors, relations))
            nothing = np.empty(0, np.int64)
            offsets = np.zeros(len(rows) + 1, np.int64)
            yield NumberedQueries(
                Queries(side, anchors[order], relations[order], offsets, nothing, nothing), rows[order]
            )


def read_queries(queries: Iterable[Sequence[Any]], dataset: Dataset) -> IntArray:
    """Take queries by the labels or the ids of a dataset.

    Parameters
    ----------
    queries
        rows of head, relation and tail: labels, with ``"?"`` or None in the place of the entity that is sought, or
        ids, with −1 or None there

    Returns
    -------
    IntArray
        int64[query, 3], −1 for what is sought

    Raises
    ------
    InputError
        if a row is no query, or names what the dataset does not have, with the nearest label

    Examples
    --------
    >>> data = Dataset.from_labels(train=[("Rome", "capital_of", "Italy")])
    >>> read_queries([("Rome", "capital_of", "?"), (None, 0, 1)], data)
    array([[ 1,  0, -1],
           [-1,  0,  1]])
    """
    if isinstance(queries, np.ndarray) and queries.dtype.kind in "iu" and queries.ndim == 2 and queries.shape[1] == 3:
        ids = queries.astype(np.int64)
    else:
        ids = _from_rows(queries, dataset)
    sizes = np.array([len(dataset.entities), len(dataset.relations), len(dataset.entities)])
    missing = ids == -1
    wrong = (missing.sum(axis=1) != 1) | missing[:, 1] | ((ids < -1) | (ids >= sizes)).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        _refuse(row, ids[row].tolist(), "its ids are not those of an entity and a relation of the dataset")
    return ids


def _from_rows(queries: Iterable[Sequence[Any]], dataset: Dataset) -> IntArray:
    if isinstance(queries, str) or not isinstance(queries, Iterable):
        raise InputError(f"queries are a list, not {queries!r:.60}: {EXPECTED}.")
    rows = list(queries)
    for number, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Sequence | np.ndarray) or len(row) != 3:
            _refuse(number, row, "it has no three parts")
    if len(rows) == 0:
        return np.empty((0, 3), np.int64)
    kinds = (dataset.entities, dataset.relations, dataset.entities)
    return np.stack([_ids([row[place] for row in rows], labels) for place, labels in enumerate(kinds)], axis=1)


def _ids(cells: list[Any], labels: Any) -> IntArray:
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
    raise InputError(f"query {number}, {row!r:.80}: {why}; {EXPECTED}.")


def as_triples(parts: Sequence[NumberedQueries]) -> Triples:
    """Take one triple for each query, with its anchor on both sides, to measure the work by."""
    columns = [np.concatenate([getattr(part.queries, name) for part in parts]) for name in ("anchors", "relations")]
    contexts = [part.queries.contexts for part in parts if part.queries.contexts is not None]
    ids = np.stack([columns[0], columns[1], columns[0]], axis=1)
    return Triples(ids, np.concatenate(contexts) if contexts else None)
