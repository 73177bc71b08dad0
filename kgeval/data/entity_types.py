"""Types of entities, and the candidates of each relation: the entities that may stand on a side of it.

Candidates are taken by type (:func:`typed_candidates`), from triples (:func:`observed_entities`) or from a file
(:func:`read_candidates`). The corruption ``typed`` calls all three functions; predictions and the baseline of rules
call :func:`observed_entities`, the slice of types :func:`read_types_of_entities`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow.compute as pc

from kgeval.base.arrays import IntArray
from kgeval.base.errors import DatasetError, counted, refusing
from kgeval.base.files import read_json
from kgeval.base.notes import Example, Note, amount
from kgeval.data.dataset import Dataset
from kgeval.data.id_files import OPENKE
from kgeval.data.labelled_triples import ids_of_listed
from kgeval.data.queries import Rows
from kgeval.data.tables import read_text
from kgeval.data.text import WHOLE_NUMBER, refuse_missing, rows
from kgeval.data.triples import SIDES, Side, Triples

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
    """the number of entities in the file that the dataset does not have"""

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
    unknown: list[str] = []
    size = len(dataset.entities)
    if source == PREFIX:
        prefixes = pc.extract_regex(dataset.entities.labels, f"(?s)^(?P<type>.+?){SEPARATOR}")
        ids, types = np.where(prefixes.is_valid(), np.arange(size), -1), pc.struct_field(prefixes, "type")
        if not (ids >= 0).any():
            fault = f"no entity of dataset {dataset.name} has a type before {SEPARATOR!r} in its label"
            raise DatasetError(f"{fault}, as 'Compound::DB00014' has. Give a file of types.")
    else:
        path = Path(source)
        table = read_text(path, ["entity", "type"])
        if not len(table):
            raise DatasetError(f"{path}: no types in it. Expected an entity and its type in each row.")
        types = table["type"].combine_chunks()
        table.refuse(np.asarray(pc.equal(types, "")), "entity", "has no type. Add it, or delete the row.")
        ids, unknown = ids_of_listed(path, table["entity"], dataset.entities)
    known = ids >= 0
    names, numbers = np.unique(types.to_numpy(zero_copy_only=False)[known], return_inverse=True)
    owners, members = np.divmod(np.unique(ids[known] * len(names) + numbers), len(names))
    numbers_of_types = Rows.sized(np.bincount(owners, minlength=size), members)
    return TypesOfEntities(tuple(names.tolist()), numbers_of_types, len(unknown))


RelationCandidates: TypeAlias = tuple[dict[Side, Rows], tuple[str, ...]]
"""by side, the candidates of each relation (ascending and distinct, one row per relation); and notes on them"""


def typed_candidates(source: str, splits: Sequence[Triples], dataset: Dataset) -> RelationCandidates:
    """Find the candidates of each relation by their types, for each side.

    A candidate shares a type with an entity that a triple of the relation in ``splits`` has on that side. ``source`` is
    as in :func:`~kgeval.data.entity_types.read_types_of_entities`.

    >>> rows = [("Gene::1", "binds", "Drug::1"), ("Drug::2", "treats", "Gene::1")]
    >>> data = Dataset.from_labels(train=rows, relations=["binds", "treats"])
    >>> found = typed_candidates("prefix", [data.train], data)
    >>> list(data.entities), found[0]["tail"].row(0)
    (['Drug::1', 'Drug::2', 'Gene::1'], array([0, 1]))
    """
    types = read_types_of_entities(source, dataset)
    has_type = _matrix(types.rows, len(types.names))
    found: dict[Side, Rows] = {}
    for side in SIDES:
        shared = _matrix(observed_entities(splits, side, dataset), len(dataset.entities)) @ has_type @ has_type.T
        shared.sort_indices()
        found[side] = Rows(shared.indptr.astype(np.int64), shared.indices.astype(np.int64))
    where = Example.path("their labels" if source == PREFIX else source)
    untyped, unknown = (amount(count, "entity") for count in (types.num_untyped, types.num_unknown))
    of_untyped = Note("candidates", untyped, " without a type in ", where, ": not used as candidates.")
    of_unknown = Note("left-out", unknown, " in ", where, " not in the dataset: left out.")
    notes = tuple(note for count, note in ((types.num_untyped, of_untyped), (types.num_unknown, of_unknown)) if count)
    return found, notes


def _matrix(rows: Rows, width: int) -> Any:
    """Mark the ids of each row, which are below ``width``; a sparse bool[row, id]."""
    from scipy.sparse import csr_matrix

    return csr_matrix((np.ones(len(rows.ids), np.bool_), rows.ids, rows.offsets), shape=(len(rows), width))


def observed_entities(splits: Sequence[Triples], side: Side, dataset: Dataset) -> Rows:
    """Collect, for each relation, the distinct entities on one side of some sets of triples, in ascending order."""
    facts = Triples(np.concatenate([triples.ids for triples in splits])) if splits else Triples.of([])
    _, relations, answers = facts.queries_of_side(side)
    return by_relation(relations, answers, dataset)


def by_relation(relations: IntArray, answers: IntArray, dataset: Dataset) -> Rows:
    """Collect the distinct entities of each relation, ascending, from pairs (relation, entity); int64[pair] each."""
    size = max(len(dataset.entities), 1)
    owners, members = np.divmod(np.unique(relations * size + answers), size)
    return Rows.sized(np.bincount(owners, minlength=len(dataset.relations)), members)


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
        return _read_type_constraints(path, dataset), ()
    lists = _read_candidate_lists(path)
    relations, unknown_relations = ids_of_listed(path, [*lists], dataset.relations)
    labels = [label for listed in lists.values() for label in listed]
    entities, unknown_entities = ids_of_listed(path, labels, dataset.entities)
    owners = np.repeat(relations, [len(listed) for listed in lists.values()])
    known = (owners >= 0) & (entities >= 0)
    unknown = {"relation": unknown_relations, "entity": unknown_entities}.items()
    where = (" in ", Example.path(path), " not in the dataset: left out.")
    notes = (Note("left-out", amount(len(of), kind), *where) for kind, of in unknown if of)
    return {"tail": by_relation(owners[known], entities[known], dataset)}, tuple(notes)


def _read_candidate_lists(path: Path) -> dict[str, list[str]]:
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


def _read_type_constraints(path: Path, dataset: Dataset) -> dict[Side, Rows]:
    """Read the candidates of both sides from OpenKE's ``type_constrain.txt``.

    Its first line is the number of relations; then each relation has two lines, for heads and for tails: relation,
    count, entities. ``entity2id.txt`` and ``relation2id.txt`` beside it have the labels of its ids, which are matched
    with the dataset by label; entities and relations that the dataset lacks are left out. Each side has an ascending
    row for each relation.
    """
    own_entities, own_relations = OPENKE.read_both(path.parent)
    entities, relations = dataset.entities.ids(own_entities.labels), dataset.relations.ids(own_relations.labels)
    lists, types = _read_constraints(path, len(entities), len(relations)), {}
    for place, side in enumerate(SIDES):
        side_rows = Rows.of(of_relation[place] for of_relation in lists)
        owners, members = relations[side_rows.owners], entities[side_rows.ids]
        known = (owners >= 0) & (members >= 0)
        types[side] = by_relation(owners[known], members[known], dataset)
    return types


def _read_constraints(path: Path, num_entities: int, num_relations: int) -> list[list[list[int]]]:
    """Read two lists of entity ids for each relation: its heads, then its tails."""
    listed = rows(path)
    count = next(listed, None)
    if count is None or count.cells != [str(num_relations)]:
        shown = "nothing" if count is None else repr("\t".join(count.cells)[:40])
        raise DatasetError(f"{path}, line 1: expected the number of relations, {num_relations}; found {shown}.")
    lists: list[list[list[int]]] = [[] for _ in range(num_relations)]
    for line in listed:
        cells = " ".join(line.cells).split()
        # A cell that is no number, and one that is missing, is -1, which no id and no count is.
        numbers = [int(cell) if WHOLE_NUMBER.fullmatch(cell) else -1 for cell in cells]
        relation, size, *members = [*numbers, -1, -1][: max(len(numbers), 2)]
        are_ids = 0 <= relation < num_relations and all(0 <= member < num_entities for member in members)
        if not are_ids or size != len(members):
            expected = f"a relation below {num_relations}, a count, then that many entity ids below {num_entities}"
            raise DatasetError(f"{path}, line {line.line}: expected {expected}; found {' '.join(cells)!r:.60}.")
        lists[relation].append(members)
    for relation, pair in enumerate(lists):
        if len(pair) != len(SIDES):
            shown = f"{path}: relation {relation} has {counted(len(pair), 'list')}"
            raise DatasetError(f"{shown}; expected two, heads and tails. The file may be cut short.")
    return lists
