"""The candidates of each relation: the entities whose types it takes, or those that a JSON file lists for its tails."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from kgeval.data.dataset import Dataset
from kgeval.data.entity_types import PREFIX, ids_of_listed, read_types_of_entities
from kgeval.data.known import by_relation, observed_types, read_types
from kgeval.data.rows import Rows
from kgeval.data.text import refuse_missing
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.errors import DatasetError, counted, reason
from kgeval.files.opening import read_json

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
    members = _turned(types.rows, len(types.names))
    taken = {side: _gathered(observed_types(splits, side, dataset), types.rows) for side in SIDES}
    rows = {side: _gathered(row, members) for side, row in taken.items()}
    where = "their labels" if source == PREFIX else source
    untyped = f"{counted(types.num_untyped, 'entity', 'entities')} without a type in {where}: not used as candidates."
    unknown = f"{counted(types.num_unknown, 'entity', 'entities')} in {where} not in the dataset: left out."
    notes = tuple(note for count, note in ((types.num_untyped, untyped), (types.num_unknown, unknown)) if count)
    return rows, notes


def _turned(rows: Rows, size: int) -> Rows:
    """List the owners of each of the ids 0 … size - 1, ascending."""
    return Rows.sized(np.bincount(rows.ids, minlength=size), rows.owners[np.argsort(rows.ids, kind="stable")])


def _gathered(first: Rows, second: Rows) -> Rows:
    """Unite, for each row of ``first``, the rows of ``second`` that it names; ascending and distinct."""
    starts, stops = second.offsets[first.ids], second.offsets[first.ids + 1]
    parts = [slice(*ends) for ends in pairwise(first.offsets.tolist())]
    united = [np.unique(Rows.spans(starts[part], stops[part], second.ids).ids) for part in parts]
    lengths = np.array([len(row) for row in united], np.int64)
    return Rows.sized(lengths, np.concatenate([np.empty(0, np.int64), *united]))


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
    try:
        content: Any = read_json(path)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{path}: not a JSON file ({reason(error)}). {expected}") from error
    if not isinstance(content, dict) or not content:
        raise DatasetError(f"{path}: {'nothing in it' if content == {} else f'a {type(content).__name__}'}. {expected}")
    for relation, listed in content.items():
        wrong = [listed] if not isinstance(listed, list) else [it for it in listed if not isinstance(it, str)]
        if wrong:
            raise DatasetError(f"{path}: relation {relation!r:.60} has {wrong[0]!r:.60} in it. {expected}")
    return content
