"""Labelled triples: a number beside each triple, which is a truth value (1 or 0) or the confidence of a fact (0 to 1)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.errors import DatasetError
from kgeval.graph.columns import read_triples
from kgeval.graph.queries import starts_of_runs
from kgeval.graph.triples import Triples
from kgeval.graph.vocabulary import Vocabulary

CONFIDENCE = ("confidence", "weight", "w", "probability")
"""What a column of confidences is called, the first being kgeval's own name."""


@dataclass(frozen=True, eq=False)
class LabelledTriples:
    """Triples as they were said, each with its label; one may be said again, with the same label or another.

    Examples
    --------
    >>> said = LabelledTriples(Triples.of([(0, 0, 1), (0, 0, 1), (1, 0, 0)]), np.array([0.2, 0.7, 0.4]))
    >>> said.largest(Triples.of([(0, 0, 1), (5, 0, 5)]))
    array([0.7, nan])
    """

    triples: Triples
    labels: Float64Array
    """float64[triple]"""

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: BoolArray) -> LabelledTriples:
        return LabelledTriples(Triples(self.triples.ids[rows]), self.labels[rows])

    def largest(self, triples: Triples) -> Float64Array:
        """Find the largest label that was given to each of some triples, NaN where none was; float64[triple]."""
        found = np.full(len(triples), np.nan)
        if not len(self):
            return found
        numbers = _numbered(self.triples, triples)
        mine, asked = numbers[: len(self)], numbers[len(self) :]
        order = np.lexsort((self.labels, mine))
        last = np.append(starts_of_runs(mine[order])[1:], len(order)) - 1
        keys, labels = mine[order][last], self.labels[order][last]
        place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        there = keys[place] == asked
        found[there] = labels[place[there]]
        return found


def contains(facts: Triples, triples: Triples) -> BoolArray:
    """Whether each of some triples is among the facts; bool[triple].

    >>> contains(Triples.of([(0, 0, 1)]), Triples.of([(0, 0, 1), (1, 0, 0)]))
    array([ True, False])
    """
    numbers = _numbered(facts, triples)
    return np.isin(numbers[len(facts) :], numbers[: len(facts)])


def reverse(triples: Triples) -> Triples:
    """Swap the head and the tail of each triple."""
    return Triples(np.ascontiguousarray(triples.ids[:, ::-1]))


def read_triple_ids(path: Path, table: pa.Table, entities: Vocabulary, relations: Vocabulary) -> Triples:
    """Find the ids of triples that a file names by their labels.

    Raises
    ------
    DatasetError
        if the vocabularies do not know one of them, with its row
    """
    columns = []
    for column, labels in (("head", entities), ("relation", relations), ("tail", entities)):
        ids = labels.ids(table[column])
        if (ids < 0).any():
            row = int(np.argmax(ids < 0))
            unknown = table[column][row].as_py()
            raise DatasetError(
                f"{path}, row {row + 1}: unknown {labels.kind} {unknown!r} in the column {column}; "
                "the dataset does not have it."
            )
        columns.append(ids)
    return Triples(np.stack(columns, axis=1))


def read_confidences(path: Path, table: pa.Table) -> Float64Array | None:
    """Read the column of confidences of a file of triples, if it has one; float64[triple].

    Raises
    ------
    DatasetError
        if one of them is no number from 0 to 1, with its row
    """
    named = [name for name in CONFIDENCE if name in table.column_names]
    if not named:
        return None
    column = table[named[0]].combine_chunks()
    try:
        labels = np.asarray(pc.cast(column, pa.float64()).fill_null(np.nan), np.float64)
    except pa.ArrowInvalid as error:
        raise DatasetError(f"{path}: the column {named[0]} holds what is no number ({error}).") from error
    wrong = ~((labels >= 0) & (labels <= 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        found = column[row].as_py()
        raise DatasetError(f"{path}, row {row + 1}: the confidence {found!r} is no number from 0 to 1.")
    return labels


def read_negatives(path: Path, entities: Vocabulary, relations: Vocabulary) -> Triples:
    """Read a file of false triples.

    Where the file has a fourth column it may hold true triples too: only rows with confidence 0 are taken.

    Raises
    ------
    DatasetError
        if the file is malformed, names what the vocabularies do not know, or has no false triple
    """
    table = read_triples(path)
    triples = read_triple_ids(path, table, entities, relations)
    confidences = read_confidences(path, table)
    if confidences is None:
        return triples
    if (confidences > 0).all():
        raise DatasetError(f"{path}: no negatives in it: none of its {len(triples)} rows has confidence 0.")
    return Triples(triples.ids[confidences == 0])


def _numbered(*parts: Triples) -> IntArray:
    """Number the distinct triples of several sets together; int64[triple], end to end."""
    ids = np.concatenate([part.ids for part in parts])
    sizes = ids.max(axis=0, initial=0) + 1
    if float(sizes[0]) * float(sizes[1]) * float(sizes[2]) < 2**63:
        return np.asarray((ids[:, 0] * sizes[1] + ids[:, 1]) * sizes[2] + ids[:, 2])
    return np.asarray(np.unique(ids, axis=0, return_inverse=True)[1]).ravel()
