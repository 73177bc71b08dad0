"""The types of entities: from a file of rows ``entity<TAB>type``, or from the prefix of each label before ``::``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.arrays import IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.rows import Rows
from kgeval.data.text import line_of, read_columns
from kgeval.errors import DatasetError

PREFIX = "prefix"
"""the source that is no file: the type is the label's part before ``::``, as Hetionet and DRKG write it"""


class EntityTypes(NamedTuple):
    """The types of the entities of a dataset."""

    names: tuple[str, ...]
    """the types, in their order as text; the id of a type is its place here"""
    rows: Rows
    """one row per entity: the ids of its types, ascending; an entity may have none, or several"""
    unknown: int
    """how many entities of the file the dataset does not have; they are left out"""


def entity_types(source: str | Path, dataset: Dataset) -> EntityTypes:
    """Read the types of the entities of a dataset.

    Parameters
    ----------
    source
        ``"prefix"``: the type of ``Gene::9021`` is ``Gene``; or a text file with an entity and one of its types in each
        row, separated by a tab (or a comma in a ``.csv``), also ``.gz``
    dataset
        whose labels the file names

    Raises
    ------
    DatasetError
        if the file is missing, with the line of a malformed row; or if no entity of the dataset has a type

    Examples
    --------
    >>> from kgeval.data.triples import Triples
    >>> from kgeval.data.vocabulary import Vocabulary
    >>> none = Triples.of([])
    >>> labels = [Vocabulary(["Gene::9021", "Disease::2", "Gene::7"]), Vocabulary(["CtD"], "relation")]
    >>> types = entity_types("prefix", Dataset("bio", *labels, train=none, valid=none, test=none))
    >>> types.names, types.rows.ids
    (('Disease', 'Gene'), array([1, 0, 1]))
    """
    if source == PREFIX:
        return _from_prefixes(dataset)
    path = Path(source)
    table = read_columns(path, ["entity", "type"])
    if (empty := np.flatnonzero(pc.equal(pc.utf8_trim_whitespace(table["type"]), ""))).size:
        raise DatasetError(f"{path}, line {line_of(path, int(empty[0]))}: the entity has no type in its row.")
    entities = dataset.entities.ids(table["entity"])
    found = entities >= 0
    if not found.any():
        example = f"{table['entity'][0].as_py()!r:.60}" if table.num_rows else "no rows at all"
        raise DatasetError(
            f"{path}: no entity of dataset {dataset.name} has a type there. Its labels are like "
            f"{dataset.entities[0]!r:.60}, those of the file like {example}."
        )
    unknown = len(pc.unique(table["entity"].filter(pa.array(~found))))
    return _numbered(entities[found], table["type"].filter(pa.array(found)), dataset, unknown)


def _from_prefixes(dataset: Dataset) -> EntityTypes:
    labels = dataset.entities.labels
    typed = np.asarray(pc.match_substring(labels, "::"))
    if not typed.any():
        raise DatasetError(
            f"no entity label of dataset {dataset.name} has a type before '::', such as Gene::9021; its labels are "
            f"like {dataset.entities[0]!r:.60}. Give a file with an entity, a tab and its type in each row."
        )
    prefixes = pc.list_element(pc.split_pattern(labels.filter(pa.array(typed)), "::", max_splits=1), 0)
    return _numbered(np.flatnonzero(typed), prefixes, dataset, 0)


def _numbered(entities: IntArray, types: pa.Array, dataset: Dataset, unknown: int) -> EntityTypes:
    """Number the types by their order as text, and collect those of each entity, each once."""
    names = sorted(pc.unique(types).to_pylist())
    codes = np.asarray(pc.index_in(types, value_set=pa.array(names, pa.string())).cast(pa.int64()))
    owners, ids = np.divmod(np.unique(entities * len(names) + codes), max(1, len(names)))
    return EntityTypes(tuple(names), Rows.sized(np.bincount(owners, minlength=len(dataset.entities)), ids), unknown)
