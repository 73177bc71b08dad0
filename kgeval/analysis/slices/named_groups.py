"""Named groups of relations or of entities, as a configuration writes them, which a slice divides rows by.

``Slice.of_relations`` and ``Slice.of_types`` call ``group_relations`` and ``group_entities``: a dataset goes in, the
group of each relation or entity comes out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kgeval.base.arrays import IntArray
from kgeval.base.errors import TableError, naming
from kgeval.data.dataset import Dataset
from kgeval.data.entity_types import read_types_of_entities
from kgeval.data.vocabulary import Vocabulary

RelationGroups = Mapping[str, Sequence[str] | str | None] | str
"""{group: its relations}, each a label or, after ``~``, a pattern; None takes all relations that are left. Or one
pattern, whose part in round brackets names the group of a relation"""

IN_NO_GROUP = "in no group"
"""the group of relations and entities that no other group takes"""

GroupNumbers = tuple[IntArray, tuple[str, ...]]
"""the group of each relation or entity, int64[relation] or int64[entity], and the names of the groups"""


def group_relations(groups: RelationGroups, dataset: Dataset) -> GroupNumbers:
    """Find the group of each relation.

    >>> from kgeval import load_dataset
    >>> group_relations({"books": ["~^book"], "rest": None}, load_dataset("nations"))[1]
    ('books', 'rest')
    """
    relations = dataset.relations
    if isinstance(groups, str):
        pattern = compiled(groups, names_groups=True)
        matches = [pattern.search(label) for label in relations]
        names = [(match and match[1]) or IN_NO_GROUP for match in matches]
        return _group_numbers(names, sorted({*names} - {IN_NO_GROUP}))
    owner: dict[int, str] = {}
    for group, members in groups.items():
        for name in [members] if isinstance(members, str) else members or ():
            for relation in _matching(name, group, relations):
                if (other := owner.setdefault(relation, group)) != group:
                    problem = f"groups: the relation {relations[relation]!r} is in {other!r} and in {group!r}"
                    raise TableError(f"{problem}. Leave it in one of them.")
    left = next((group for group, members in groups.items() if members is None), IN_NO_GROUP)
    return _group_numbers([owner.get(relation, left) for relation in range(len(relations))], list(groups))


def group_entities(source: str, dataset: Dataset) -> GroupNumbers:
    """Find the group of each entity, its type; if an entity has several types, they are one group, joined by ``+``."""
    types = read_types_of_entities(source, dataset)
    rows = (types.rows.row(entity) for entity in range(len(dataset.entities)))
    names = [" + ".join(types.names[index] for index in row) or IN_NO_GROUP for row in rows]
    return _group_numbers(names, sorted({*names} - {IN_NO_GROUP}))


def groupings(groups: Mapping[str, Any], alone: str = "groups") -> dict[str, Any]:
    """Read the block ``groups`` of a configuration: one grouping, for the slice ``alone``, or several by slice name.

    >>> groupings({"treats": ["CtD", "CpD"], "rest": None})
    {'groups': {'treats': ['CtD', 'CpD'], 'rest': None}}
    >>> groupings({"domain": {"by": "^/([^/]+)"}, "kind": {"types": "prefix"}})
    {'domain': {'by': '^/([^/]+)'}, 'kind': {'types': 'prefix'}}
    """
    several = bool(groups) and all(isinstance(group, Mapping) for group in groups.values())
    return dict(groups) if several else {alone: groups}


def check_groups(groups: Any) -> RelationGroups:
    """Return the groups if they are a grouping of relations; else refuse them, and name the wrong group."""
    if isinstance(groups, str):
        compiled(groups, names_groups=True)
        return groups
    if not isinstance(groups, Mapping) or not groups:
        expected = "the relations of each group by its name, or a pattern"
        raise TableError(f"groups: expected {expected}; found {groups!r:.80}.")
    for group, members in groups.items():
        listed = () if members is None else [members] if isinstance(members, str) else members
        if not isinstance(group, str) or not isinstance(listed, list | tuple):
            raise TableError(f"groups: {group!r:.60} needs a list of relations, or null; found {members!r:.80}.")
        if wrong := [name for name in listed if not isinstance(name, str)]:
            raise TableError(f"groups: {group!r:.60}: a relation is text, found {wrong[0]!r:.60}.")
        for pattern in (name[1:] for name in listed if name.startswith("~")):
            compiled(pattern)
    if len(rest := [group for group, members in groups.items() if members is None]) > 1:
        raise TableError(f"groups: {rest[0]!r} and {rest[1]!r} are both null, which takes what is left. Keep one.")
    return groups


def compiled(pattern: str, *, names_groups: bool = False) -> re.Pattern[str]:
    """Compile a pattern; if it ``names_groups``, it must have a part in round brackets."""
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise TableError(f"groups: {pattern!r:.80} is no regular expression ({error}).") from error
    if names_groups and not expression.groups:
        problem = f"groups: the pattern {pattern!r:.80} has no part in round brackets, which names the group"
        raise TableError(f"{problem}. An example is '^/([^/]+)'.")
    return expression


def _matching(name: str, group: str, relations: Vocabulary) -> list[int]:
    """Find the ids of the relations that a label, or a pattern after ``~``, names; there must be one."""
    if not name.startswith("~"):
        with naming(f"groups: {group!r}", TableError):
            return [relations.id(name)]
    pattern = compiled(name[1:])
    matches = [relation for relation, label in enumerate(relations) if pattern.search(label)]
    if not matches:
        raise TableError(f"groups: {group!r}: no relation matches {name[1:]!r}. One is called {relations[0]!r}.")
    return matches


def _group_numbers(members: list[str], names: list[str]) -> GroupNumbers:
    """Number the group of each member in the order of ``names``; the group ``in no group`` is last."""
    names = list(dict.fromkeys([*names, *([IN_NO_GROUP] if IN_NO_GROUP in members else [])]))
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[name] for name in members], np.int64), tuple(names)
