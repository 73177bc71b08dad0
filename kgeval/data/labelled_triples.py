"""Files that name things by labels, read into the ids of a loaded dataset: triples, false triples, lists of labels.

``Dataset.split`` reads a file by its path with :func:`read_own`. Files of candidates, of negatives and of scores find
their triples with :func:`read_triple_ids`. Triples with a label that the dataset does not have are refused; of lists
(:func:`read_listed`, for corruptions and restricted evaluations) unknown labels are returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import DatasetError, InputError, did_you_mean
from kgeval.data import SPLITS
from kgeval.data.columns import TRIPLE
from kgeval.data.tables import NamedTable, read_triples
from kgeval.data.text import BLANKS, UNIT_SEPARATOR, read_columns
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
    ids = known_ids(table, role, labels)
    table.refuse(ids < 0, role, f"is no {labels.kind} of the dataset.")
    return ids


def known_ids(table: NamedTable, role: str, labels: Vocabulary) -> IntArray:
    """Find the ids of one column of labels, -1 for unknown ones; int64[row]. If some are unknown, blanks are cut."""
    ids = labels.ids(table[role])
    return labels.ids(pc.utf8_trim(table[role], BLANKS)) if (ids < 0).any() else ids


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


def read_listed(source: Path | Sequence[str], vocabulary: Vocabulary) -> tuple[IntArray, list[str]]:
    """Return the ids, ascending, of labels from a list or a file (one in each line); and the unknown labels, in quotes.

    Raises
    ------
    DatasetError
        if the file is missing or empty, or the dataset has none of the labels
    """
    where = source if isinstance(source, Path) else f"the list of labels of {vocabulary.kind} ids"
    labels: pa.ChunkedArray | Sequence[str] = source
    if isinstance(source, Path):
        labels = read_columns(source, ["label"], delimiter=UNIT_SEPARATOR, quoted=False)["label"]
    if not len(labels):
        raise DatasetError(f"{where}: nothing in it. Expected a label in each line.")
    ids, unknown = ids_of_listed(where, labels, vocabulary)
    return np.unique(ids[ids >= 0]), unknown


def ids_of_listed(
    where: Path | str, labels: pa.ChunkedArray | Sequence[str], vocabulary: Vocabulary
) -> tuple[IntArray, list[str]]:
    """Find the ids of labels, -1 for unknown ones, int64[label], and the unknown labels, each once and in quotes.

    Raises
    ------
    DatasetError
        if all are unknown, with the labels that are nearest to the first; if a label is not text
    """
    fault = ""
    try:
        ids = vocabulary.ids(labels)
        if len(ids) and (ids < 0).all():
            fault = f"the dataset has none of the {len(labels):,} labels in it. The first is an "
            vocabulary.id(str(labels[0]))
    except InputError as error:
        raise DatasetError(f"{where}: {fault}{error}") from error
    return ids, list(dict.fromkeys(repr(str(labels[row])) for row in np.flatnonzero(ids < 0).tolist()))
