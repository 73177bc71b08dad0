"""Lists of entities, and the types of entities: from a file, or from the text before ``::`` in a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import IntArray
from kgeval.base.errors import DatasetError, InputError
from kgeval.data.dataset import Dataset
from kgeval.data.rows import Rows
from kgeval.data.tables import read_text
from kgeval.data.text import UNIT_SEPARATOR, read_columns
from kgeval.data.vocabulary import Vocabulary

PREFIX = "prefix"
"""the source of types that are part of the labels, as in Hetionet and DRKG: ``Compound::DB00014``"""

SEPARATOR = "::"


@dataclass(frozen=True, eq=False)
class TypesOfEntities:
    """The types of a dataset's entities; an entity may have several, or none."""

    names: tuple[str, ...]
    """the types that entities of the dataset have, sorted; the number of a type is its place here"""
    rows: Rows
    """the numbers of the types of each entity, ascending and distinct; one row per entity"""
    num_unknown: int = 0
    """entities of the file that the dataset does not have"""

    @property
    def num_untyped(self) -> int:
        """How many entities of the dataset have no type."""
        return int((self.rows.lengths == 0).sum())


def read_types_of_entities(source: str | Path, dataset: Dataset) -> TypesOfEntities:
    """Read the types of a dataset's entities.

    Parameters
    ----------
    source
        ``"prefix"``: the type of an entity is the text before ``::`` in its label; or a file with an entity and a
        type in each row, separated by a tab (commas in a ``.csv``). An entity of several types has several rows
    dataset
        the graph; entities that it does not have are left out, and counted

    Raises
    ------
    DatasetError
        if the file is missing, empty or malformed, with the line; if it has none of the dataset's entities, or no label
        has a prefix

    Examples
    --------
    >>> data = Dataset.from_labels(train=[("Gene::1", "regulates", "Gene::2"), ("Drug::7", "binds", "Gene::1")])
    >>> types = read_types_of_entities("prefix", data)
    >>> types.names, list(data.entities), types.rows.ids
    (('Drug', 'Gene'), ['Drug::7', 'Gene::1', 'Gene::2'], array([0, 1, 1]))
    """
    num_unknown, size = 0, len(dataset.entities)
    if source == PREFIX:
        found = pc.extract_regex(dataset.entities.labels, f"(?s)^(?P<type>.+?){SEPARATOR}")
        ids, types = np.where(found.is_valid(), np.arange(size), -1), pc.struct_field(found, "type")
        if not (ids >= 0).any():
            what = f"no entity of dataset {dataset.name} has a type before {SEPARATOR!r} in its label"
            raise DatasetError(f"{what}, as 'Compound::DB00014' has. Give a file of types.")
    else:
        path = Path(source)
        table = read_text(path, ["entity", "type"])
        if not len(table):
            raise DatasetError(f"{path}: no types in it. Expected an entity and its type in each row.")
        types = table["type"].combine_chunks()
        table.refuse(np.asarray(pc.equal(types, "")), "entity", "has no type. Add it, or delete the row.")
        ids, num_unknown = ids_of_listed(path, table["entity"], dataset.entities)
    known = ids >= 0
    names, numbers = np.unique(types.to_numpy(zero_copy_only=False)[known], return_inverse=True)
    owners, members = np.divmod(np.unique(ids[known] * len(names) + numbers), len(names))
    rows = Rows.sized(np.bincount(owners, minlength=size), members)
    return TypesOfEntities(tuple(names.tolist()), rows, num_unknown)


def read_listed(source: Path | Sequence[str], vocabulary: Vocabulary) -> tuple[IntArray, int]:
    """Read a list of labels, one in each line, or take them; their ids, ascending, and how many the dataset lacks.

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
    ids, num_unknown = ids_of_listed(where, labels, vocabulary)
    return np.unique(ids[ids >= 0]), num_unknown


def ids_of_listed(
    where: Path | str, labels: pa.ChunkedArray | Sequence[str], vocabulary: Vocabulary
) -> tuple[IntArray, int]:
    """Find the ids of labels, -1 for unknown ones, int64[label], and count the distinct unknown labels.

    Raises
    ------
    DatasetError
        if all are unknown, with the labels that are nearest to the first; if a label is not text
    """
    what = ""
    try:
        ids = vocabulary.ids(labels)
        if len(ids) and (ids < 0).all():
            what = f"the dataset has none of the {len(labels):,} labels in it. The first is an "
            vocabulary.id(str(labels[0]))
    except InputError as error:
        raise DatasetError(f"{where}: {what}{error}") from error
    return ids, len({str(labels[row]) for row in np.flatnonzero(ids < 0).tolist()})
