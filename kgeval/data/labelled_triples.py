"""Labelled triples of one file, in the ids of a dataset: triples to rank, to filter by, or false ones.

``Dataset.split`` reads a file by its path with :func:`read_own`. Files of candidates, of negatives and of scores find
their triples with :func:`read_triple_ids`. A label that the dataset does not have is refused.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import DatasetError, did_you_mean
from kgeval.data import SPLITS
from kgeval.data.columns import TRIPLE
from kgeval.data.tables import NamedTable, read_triples
from kgeval.data.text import BLANKS
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary


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


def read_negatives(path: Path, entities: Vocabulary, relations: Vocabulary) -> Triples:
    """Read a file of false triples; where it has labels or confidences, true ones in it are left out."""
    table = read_triples(path)
    return read_triple_ids(table, entities, relations)[false_rows(table)]


def false_rows(table: NamedTable) -> BoolArray:
    """Find the false rows of a file of negatives: all, or those whose label or confidence says so; bool[row]."""
    truths, confidences = table.truths(), table.confidences()
    if truths is None and confidences is None:
        return np.ones(len(table), np.bool_)
    false = ~truths if truths is not None else np.asarray(confidences == 0)
    if not false.any():
        raise DatasetError(f"{table.source}: no negatives in it: none of its {len(table)} rows has confidence 0.")
    return false
