"""Labelled triples: a number beside each triple, a truth value (1 or 0) or the confidence of a fact (0 to 1)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.triple_files import read_triples
from kgeval.data.triples import TripleIndex, Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError

CONFIDENCE = ("confidence", "weight", "w", "probability")
"""What a column of confidences is called, the first being kgeval's own name."""


@dataclass(frozen=True, eq=False)
class LabelledTriples:
    """Triples, each with its label; a triple may occur several times, with equal or different labels.

    Examples
    --------
    >>> labelled = LabelledTriples(Triples.of([(0, 0, 1), (0, 0, 1), (1, 0, 0)]), np.array([0.2, 0.7, 0.4]))
    >>> labelled.largest().of(Triples.of([(0, 0, 1), (5, 0, 5)]))
    array([0.7, nan])
    """

    triples: Triples
    labels: Float64Array
    """float64[triple]"""

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.triples):
            raise DatasetError(f"{len(self.labels)} labels for {len(self.triples)} triples: give one for each.")

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: BoolArray) -> LabelledTriples:
        return LabelledTriples(Triples(self.triples.ids[rows]), self.labels[rows])

    def largest(self) -> LargestLabels:
        index = TripleIndex.of(self.triples)
        labels = np.full(len(index), -np.inf)
        np.maximum.at(labels, index.find(self.triples), self.labels)
        return LargestLabels(index, labels)


@dataclass(frozen=True, eq=False)
class LargestLabels:
    """The largest label of each triple."""

    index: TripleIndex
    labels: Float64Array
    """float64[distinct triple]"""

    def of(self, triples: Triples) -> Float64Array:
        """Look labels up, NaN for triples without one; float64[triple]."""
        found = self.index.find(triples)
        return np.where(found >= 0, np.append(self.labels, np.nan)[found], np.nan)


def reverse(triples: Triples) -> Triples:
    """Swap the head and the tail of each triple."""
    return Triples(np.ascontiguousarray(triples.ids[:, ::-1]))


def read_triple_ids(path: str | Path, table: pa.Table, entities: Vocabulary, relations: Vocabulary) -> Triples:
    """Find the ids of triples that a file names by their labels."""
    columns = (("head", entities), ("relation", relations), ("tail", entities))
    return Triples(np.stack([read_column_ids(path, table, column, labels) for column, labels in columns], axis=1))


def read_column_ids(path: str | Path, table: pa.Table, column: str, labels: Vocabulary) -> IntArray:
    """Find the ids of one column of labels; int64[row]."""
    ids = labels.ids(table[column])
    if (ids < 0).any():
        row = int(np.argmax(ids < 0))
        unknown = table[column][row].as_py()
        raise DatasetError(
            f"{path}, row {row + 1}: unknown {labels.kind} {unknown!r} in the column {column}; "
            "the dataset does not have it."
        )
    return ids


def read_confidences(path: str | Path, table: pa.Table) -> Float64Array | None:
    """Read the column of confidences of a file of triples, if it has one; float64[triple]."""
    names = [name for name in CONFIDENCE if name in table.column_names]
    if not names:
        return None
    if len(names) > 1:
        raise DatasetError(
            f"{path}: {len(names)} columns are the confidence ({' and '.join(names)}). Keep one of them."
        )
    column = table[names[0]].combine_chunks()
    try:
        labels = np.asarray(pc.cast(column, pa.float64()).fill_null(np.nan), np.float64)
    except pa.ArrowInvalid as error:
        raise DatasetError(f"{path}: the column {names[0]} has a cell that is not a number ({error}).") from error
    wrong = ~((labels >= 0) & (labels <= 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        found = column[row].as_py()
        raise DatasetError(
            f"{path}, row {row + 1}: the {names[0]} {found!r} is not a number from 0 to 1. Scale the column, or leave "
            "it out. If it holds times, call it time in the header."
        )
    return labels


def false_rows(path: Path, table: pa.Table) -> BoolArray:
    """Find the false rows of a file of negatives: all, or where it has confidences those of 0; bool[row]."""
    confidences = read_confidences(path, table)
    if confidences is None:
        return np.ones(table.num_rows, np.bool_)
    if (confidences > 0).all():
        raise DatasetError(f"{path}: no negatives in it: none of its {table.num_rows} rows has confidence 0.")
    return np.asarray(confidences == 0)


def read_negatives(path: Path, entities: Vocabulary, relations: Vocabulary) -> Triples:
    """Read a file of false triples; where it has confidences it may hold true ones too, which are left out."""
    table = read_triples(path)
    triples = read_triple_ids(path, table, entities, relations)
    return Triples(triples.ids[false_rows(path, table)])
