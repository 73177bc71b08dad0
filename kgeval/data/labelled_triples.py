"""Labelled triples: a number beside each triple, a truth value (1 or 0) or the confidence of a fact (0 to 1).

And triples of a file beside the splits of a dataset, in its ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import DatasetError, did_you_mean
from kgeval.data import SPLITS
from kgeval.data.columns import TRIPLE
from kgeval.data.tables import NamedTable, read_triples
from kgeval.data.text import BLANKS
from kgeval.data.triples import TripleIndex, Triples
from kgeval.data.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class LabelledTriples:
    """Triples, each with its label; a triple may occur several times, with equal or different labels.

    Examples
    --------
    >>> labelled = LabelledTriples(Triples.of([(0, 0, 1), (0, 0, 1), (1, 0, 0)]), np.array([0.2, 0.7, 0.4]))
    >>> labelled.largest(Triples.of([(0, 0, 1), (5, 0, 5)]))
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

    def largest(self, triples: Triples) -> Float64Array:
        """Look up the largest label of each triple, NaN for triples without one; float64[triple]."""
        index, labels = self._by_triple
        rows = index.find(triples)
        return np.where(rows >= 0, np.append(labels, np.nan)[rows], np.nan)

    @cached_property
    def _by_triple(self) -> tuple[TripleIndex, Float64Array]:
        """Number the distinct triples, and find the largest label of each; float64[distinct triple]."""
        index = TripleIndex.of(self.triples)
        labels = np.full(len(index), -np.inf)
        np.maximum.at(labels, index.find(self.triples), self.labels)
        return index, labels


def reverse(triples: Triples) -> Triples:
    """Swap the head and the tail of each triple."""
    return Triples(np.ascontiguousarray(triples.ids[:, ::-1]))


def read_triple_ids(table: NamedTable, entities: Vocabulary, relations: Vocabulary) -> Triples:
    """Find the ids of triples that a table names by their labels."""
    columns = zip(TRIPLE, (entities, relations, entities), strict=True)
    return Triples(np.stack([read_column_ids(table, role, labels) for role, labels in columns], axis=1))


def read_column_ids(table: NamedTable, role: str, labels: Vocabulary) -> IntArray:
    """Find the ids of one column of labels; int64[row]."""
    ids = labels.ids(table[role])
    ids = labels.ids(pc.utf8_trim(table[role], BLANKS)) if (ids < 0).any() else ids
    table.refuse(ids < 0, role, f"is no {labels.kind} of the dataset.")
    return ids


def false_rows(table: NamedTable) -> BoolArray:
    """Find the false rows of a file of negatives: all, or those whose label or confidence says so; bool[row]."""
    truths, confidences = table.truths(), table.confidences()
    if truths is None and confidences is None:
        return np.ones(len(table), np.bool_)
    false = ~truths if truths is not None else np.asarray(confidences == 0)
    if not false.any():
        raise DatasetError(f"{table.source}: no negatives in it: none of its {len(table)} rows has confidence 0.")
    return false


def read_negatives(path: Path, entities: Vocabulary, relations: Vocabulary) -> Triples:
    """Read a file of false triples; where it has labels or confidences, true ones in it are left out."""
    table = read_triples(path)
    return read_triple_ids(table, entities, relations)[false_rows(table)]


def read_own(name: str, entities: Vocabulary, relations: Vocabulary, times: Vocabulary | None) -> Triples:
    """Read a file of labelled triples in the ids of a dataset, each triple once.

    Raises
    ------
    DatasetError
        if the file is missing or malformed, or has a label that the dataset does not have
    """
    path = Path(name)
    if not path.is_file():
        raise DatasetError(f"there is no split and no file {name!r}. {did_you_mean(name, SPLITS)}")
    table = read_triples(path, fourth=None if times is None else "time")
    ids = read_triple_ids(table, entities, relations).ids
    keep = np.ones(len(table), np.bool_) if (truths := table.truths()) is None else truths
    if times is None:
        return Triples(ids[keep]).distinct().triples
    if (column := table.times()) is None:
        raise DatasetError(f"{path}: no column 'time', but the dataset is temporal. Add the column.")
    contexts = times.ids(column)
    table.refuse(contexts < 0, "time", "is none of the dataset.")
    return Triples(ids[keep], contexts[keep]).distinct().triples
