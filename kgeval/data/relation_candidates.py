"""The candidates of each relation: the entities whose types it takes, or those that a JSON file lists for its tails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from kgeval.base.errors import DatasetError, counted, refusing
from kgeval.base.files import read_json
from kgeval.data.dataset import Dataset
from kgeval.data.entity_types import PREFIX, ids_of_listed, read_types_of_entities
from kgeval.data.known import by_relation, observed_types, read_types
from kgeval.data.rows import Rows
from kgeval.data.text import refuse_missing
from kgeval.data.triples import SIDES, Side, Triples

RelationCandidates: TypeAlias = tuple[dict[Side, Rows], tuple[str, ...]]
"""the entities of each relation by side, ascending and distinct, one row per relation; and what to know about them"""


def typed_candidates(source: str, splits: Sequence[Triples], dataset: Dataset) -> RelationCandidates:
    """Take the entities that share a type with an entity that some triples of the relation have on a side.

    ``source`` is that of :func:`~kgeval.data.entity_types.read_types_of_entities`.

    >>> rows = [("Gene::1", "binds", "Drug::1"), ("Drug::2", "treats", "Gene::1")]
    >>> data = Dataset.from_labels(train=rows, relations=["binds", "treats"])
    >>> found = typed_candidates("prefix", [data.train], data)
    >>> list(data.entities), found[0]["tail"].row(0)
    (['Drug::1', 'Drug::2', 'Gene::1'], array([0, 1]))
    """
    types = read_types_of_entities(source, dataset)
    has_type = _matrix(types.rows, len(types.names))
    rows: dict[Side, Rows] = {}
    for side in SIDES:
        shared = _matrix(observed_types(splits, side, dataset), len(dataset.entities)) @ has_type @ has_type.T
        shared.sort_indices()
        rows[side] = Rows(shared.indptr.astype(np.int64), shared.indices.astype(np.int64))
    where = "their labels" if source == PREFIX else source
    untyped = f"{counted(types.num_untyped, 'entity', 'entities')} without a type in {where}: not used as candidates."
    unknown = f"{counted(types.num_unknown, 'entity', 'entities')} in {where} not in the dataset: left out."
    notes = tuple(note for count, note in ((types.num_untyped, untyped), (types.num_unknown, unknown)) if count)
    return rows, notes


def _matrix(rows: Rows, width: int) -> Any:
    """Mark the ids of each row, which are below ``width``; a sparse bool[row, id]."""
    from scipy.sparse import csr_matrix

    return csr_matrix((np.ones(len(rows.ids), np.bool_), rows.ids, rows.offsets), shape=(len(rows), width))


def read_candidates(path: Path, dataset: Dataset) -> RelationCandidates:
    """Read the candidates of relations from OpenKE's ``type_constrain.txt``, or from JSON if the file is ``.json``.

    JSON is ``{relation: [entity, …]}`` with the candidates of tails, as in the few-shot sets NELL-One and Wiki-One
    (Xiong et al., 2018): ``rel2candidates.json``. Labels that the dataset does not have are left out, and counted.

    Raises
    ------
    DatasetError
        if the file is missing, malformed or of another dataset
    """
    if path.suffix.lower() != ".json":
        return read_types(path, dataset), ()
    lists = _lists(path)
    relations, unknown_relations = ids_of_listed(path, [*lists], dataset.relations)
    labels = [label for listed in lists.values() for label in listed]
    entities, unknown_entities = ids_of_listed(path, labels, dataset.entities)
    owners = np.repeat(relations, [len(listed) for listed in lists.values()])
    known = (owners >= 0) & (entities >= 0)
    notes = [
        f"{counted(count, *kind)} in {path} not in the dataset: left out."
        for count, kind in ((unknown_relations, ("relation",)), (unknown_entities, ("entity", "entities")))
        if count
    ]
    return {"tail": by_relation(owners[known], entities[known], dataset)}, tuple(notes)


def _lists(path: Path) -> dict[str, list[str]]:
    """Read JSON, and refuse it if it is no ``{relation: [entity, …]}``."""
    refuse_missing(path)
    expected = "Expected {relation: [entity, …]}, the labels of the candidates of tails."
    with refusing(path, "not a JSON file", ValueError, RecursionError, cure=expected):
        content: Any = read_json(path)
    if not isinstance(content, dict) or not content:
        raise DatasetError(f"{path}: {'nothing in it' if content == {} else f'a {type(content).__name__}'}. {expected}")
    for relation, listed in content.items():
        wrong = [listed] if not isinstance(listed, list) else [it for it in listed if not isinstance(it, str)]
        if wrong:
            raise DatasetError(f"{path}: relation {relation!r:.60} has {wrong[0]!r:.60} in it. {expected}")
    return content
