"""Type constraints: the entities that may be the head of a relation, and those that may be its tail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from kgeval.arrays import IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.io.id_files import OPENKE
from kgeval.data.io.text import WHOLE_NUMBER, rows
from kgeval.data.rows import Rows
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.errors import DatasetError


def observed_types(splits: Sequence[Triples], side: Side, dataset: Dataset) -> Rows:
    """Collect, for each relation, the distinct entities on one side of some sets of triples, in ascending order."""
    facts = Triples(np.concatenate([triples.ids for triples in splits])) if splits else Triples.of([])
    _, relations, answers = facts.queries_of_side(side)
    return _by_relation(relations, answers, dataset)


def read_types(path: Path, dataset: Dataset) -> dict[Side, Rows]:
    """Read the types of both sides from OpenKE's ``type_constrain.txt``.

    Its first line is the number of relations; then each has two lines, first heads, then tails: relation, count,
    entities. The ids are those of ``entity2id.txt`` and ``relation2id.txt`` beside it, which are matched with the
    dataset by label; what the dataset does not know is left out. Each side has an ascending row for each relation.
    """
    own_entities, own_relations = OPENKE.read_both(path.parent)
    entities, relations = dataset.entities.ids(own_entities.labels), dataset.relations.ids(own_relations.labels)
    lists = list(_lines(path, len(entities), len(relations)))
    types = {}
    for side in SIDES:
        own = [(relation, listed) for of_side, relation, listed in lists if of_side == side]
        owners = np.repeat([relation for relation, _ in own], [len(listed) for _, listed in own]).astype(np.int64)
        members = np.concatenate([np.empty(0, np.int64), *(listed for _, listed in own)])
        owners, members = relations[owners], entities[members]
        known = (owners >= 0) & (members >= 0)
        types[side] = _by_relation(owners[known], members[known], dataset)
    return types


def _lines(path: Path, num_entities: int, num_relations: int) -> Iterator[tuple[Side, int, IntArray]]:
    """Yield the side, the relation and the entities of each list; each relation must have one list of each side."""
    listed = rows(path)
    count = next(listed, None)
    if count is None or count.cells != [str(num_relations)]:
        found = "nothing" if count is None else repr("\t".join(count.cells)[:40])
        raise DatasetError(f"{path}, line 1: expected the number of relations, {num_relations}; found {found}.")
    seen = [0] * num_relations
    for line in listed:
        cells = [cell for text in line.cells for cell in text.split()]
        for cell in cells:
            if not WHOLE_NUMBER.fullmatch(cell):
                raise DatasetError(f"{path}, line {line.line}: {cell[:40]!r} is not a whole number.")
        # A line of fewer than two numbers is filled up with -1, which the checks below refuse.
        relation, size, *members = [*map(int, cells), -1, -1][: max(len(cells), 2)]
        if not 0 <= relation < num_relations or seen[relation] == len(SIDES):
            why = f"relation {relation} has two lists already" if 0 <= relation < num_relations else f"no id {relation}"
            raise DatasetError(
                f"{path}, line {line.line}: {why}. Each of {num_relations} relations has heads, then tails."
            )
        if size != len(members) or not all(0 <= member < num_entities for member in members):
            raise DatasetError(
                f"{path}, line {line.line}: expected relation, count, then that many entity ids below {num_entities}."
            )
        yield SIDES[seen[relation]], relation, np.array(members, np.int64)
        seen[relation] += 1
    if min(seen, default=len(SIDES)) < len(SIDES):
        raise DatasetError(
            f"{path}: relation {seen.index(min(seen))} has {min(seen)} of its two lists. The file may be cut short."
        )


def _by_relation(relations: IntArray, answers: IntArray, dataset: Dataset) -> Rows:
    size = max(len(dataset.entities), 1)
    owners, members = np.divmod(np.unique(relations * size + answers), size)
    return Rows.sized(np.bincount(owners, minlength=len(dataset.relations)), members)
