"""A slice: a rule that divides the rows of a rank table by properties in the dataset; the registry of slices.

Below it, what slices divide rows by: counts of train, and named groups of relations or entities as a configuration
writes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import DatasetError, TableError, did_you_mean, naming
from kgeval.base.registries import by_name, instances, load_entry_points
from kgeval.base.tables.shown import Brief
from kgeval.data.dataset import Dataset, Split
from kgeval.data.entity_types import PREFIX, read_types_of_entities
from kgeval.data.triples import Triples, find_sorted
from kgeval.data.vocabulary import Vocabulary
from kgeval.metrics.metric import check_name
from kgeval.ranking.rank_table import SCHEMA

OF_RELATIONS = "relation side"
"""the category of rows that predict a relation, where a slice is of entities"""

EXPRESSION = re.compile("(relation~|types:)(.+)", re.DOTALL)
"""a slice that is written out where a name is expected"""

WRITTEN = (
    ("relation~PATTERN", "part of the relation's label that matches a regular expression, such as 'relation~^/([^/]+)'",
     "the group is the match of the part in round brackets; 'in no group': the label does not match",
     "kgeval"),
    ("types:FILE", "type of the answer, from a file of rows entity<TAB>type; types:prefix takes Gene from Gene::9021",
     "several types of one entity form one group; 'in no group': the answer has no type", "kgeval"),
    ("FILE.yaml", "own groups, in a file with the keys of 'groups' in a configuration",
     "treats: [CtD, CpD], rest: null; a name after ~ is a pattern; or by: PATTERN; or types: FILE", "kgeval"),
)  # fmt: skip
"""how slices are written out: name, title, rule and source, as those of other slices are listed"""


@dataclass(frozen=True, eq=False)
class EvaluatedRows:
    """The rows of a rank table, in the ids of the dataset."""

    triples: Triples
    """the triple of each row"""
    tails: BoolArray
    """bool[row], whether the tail is predicted, and not the head; False where the relation is"""
    split: Triples
    """all triples of the evaluated split, so that what a row is does not depend on which other rows there are"""

    @property
    def anchors(self) -> IntArray:
        """The anchor of each row; int64[row]."""
        return np.where(self.tails, self.triples.heads, self.triples.tails)

    @property
    def relations(self) -> IntArray:
        """The relation of each row; int64[row]."""
        return self.triples.relations

    @property
    def answers(self) -> IntArray:
        """The answer of each row; int64[row]."""
        return np.where(self.tails, self.triples.tails, self.triples.heads)

    def of_whole_split(self) -> EvaluatedRows:
        tails = np.repeat([False, True], len(self.split))
        return EvaluatedRows(Triples(np.concatenate([self.split.ids, self.split.ids])), tails, self.split)


class Categories(NamedTuple):
    """The category of each row."""

    codes: IntArray
    """int64[row], into the names"""
    names: tuple[str, ...]
    """in the order of the groups that they make; some may have no rows"""

    @classmethod
    def of_flag(cls, holds: BoolArray) -> Categories:
        """Divide rows by whether something holds of them."""
        return cls(np.where(holds, 0, 1), ("yes", "no"))


@dataclass(frozen=True, repr=False)
class Slice(Brief):
    """A slice: its name, what ``kgeval list slices`` prints of it, and the function that divides rows.

    Raises
    ------
    MetricError
        if its name has other characters than lower-case letters, digits, - and _
    TableError
        if its name is a column of every rank table

    Examples
    --------
    >>> loops = Slice(
    ...     "loops", "triples from an entity to itself", rule="h = t", source="this page", needs=(),
    ...     assign=lambda rows, dataset: Categories.of_flag(rows.triples.heads == rows.triples.tails),
    ... )
    >>> rows = EvaluatedRows(Triples.of([(0, 0, 1), (2, 0, 2)]), np.array([True, True]), Triples.of([]))
    >>> loops.assign(rows, None)
    Categories(codes=array([1, 0]), names=('yes', 'no'))
    """

    name: str
    """that of the column which it adds"""
    title: str
    rule: str
    """which rows belong to which category"""
    source: str
    assign: Callable[[EvaluatedRows, Dataset], Categories]
    """(rows, dataset) -> the category of each row"""
    needs: tuple[Split, ...] = ("train",)
    """the splits that the dataset must have"""
    needs_times: bool = False
    """whether the triples must have times"""
    of_triples: bool = False
    """whether the triple of a row decides, whatever is predicted of it; other slices take a row's anchor or answer for
    an entity, and put rows that predict relations into a category of their own"""
    check: Callable[[Dataset], object] | None = None
    """a function that raises an error for an unsuitable dataset"""
    files: tuple[str, ...] = ()
    """the files that it is read from, beside those of the dataset"""

    def __post_init__(self) -> None:
        if not EXPRESSION.fullmatch(self.name):
            check_name("slice", self.name)
        if self.name in SCHEMA.names:
            raise TableError(f"slice {self.name!r}: every rank table has a column of this name. Choose another.")

    @classmethod
    def of_relations(cls, name: str, groups: RelationGroups) -> Slice:
        """Divide rows by named groups of relations.

        Parameters
        ----------
        name
            the name of the slice
        groups
            the relations of each group: labels, or regular expressions after ``~``, which are searched for in the
            labels; None means all other relations. Or one regular expression, whose first group in round brackets names
            the group of a relation. All other relations are in the group ``in no group``

        Raises
        ------
        TableError
            if the groups are malformed; and, when the slice is added to ranks, if a relation is unknown, with the
            nearest label, or in two groups

        Examples
        --------
        >>> from kgeval import annotate, evaluate, load_dataset, summarize
        >>> data = load_dataset("nations")
        >>> goods = Slice.of_relations("goods", {"books": ["~book", "booktranslations"], "rest": None})
        >>> table = annotate(evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, data), data, goods)
        >>> print(summarize(table, ["both.mrr"], by="goods").to_frame().round(3).to_string(index=False))
        goods  both.mrr  both.count
        books     0.265           8
         rest     0.381         394
        """
        groups = check_groups(groups)
        rule = f"the group that {groups!r} names" if isinstance(groups, str) else ", ".join(groups)
        how = partial(group_relations, groups)
        return cls._by_ids("relations", name, "named groups of relations", rule, how, of_triples=True)

    @classmethod
    def of_types(cls, name: str, source: str) -> Slice:
        """Divide rows by the type of their answer.

        Parameters
        ----------
        name
            the name of the slice
        source
            a file with an entity, a tab and one of its types in each row; or ``"prefix"``, the part of a label before
            ``::``. If an entity has several types, they are one group, joined by `` + ``; an answer without a type
            is in the group ``in no group``
        """
        files = () if source == PREFIX else (source,)
        how = partial(group_entities, source)
        return cls._by_ids("answers", name, "the type of the answer", f"types: {source}", how, files=files)

    @classmethod
    def _by_ids(
        cls, ids: str, name: str, title: str, rule: str, how: Callable[[Dataset], Numbered], **about: Any
    ) -> Slice:
        """Divide rows by the group of their relations or their answers."""

        def assign(rows: EvaluatedRows, dataset: Dataset) -> Categories:
            codes, names = how(dataset)
            return Categories(codes[getattr(rows, ids)], names)

        return cls(name, title, rule, "the user", assign, needs=(), check=how, **about)

    @classmethod
    def of_groups(cls, name: str, groups: Mapping[str, Any]) -> Slice:
        """Read groups as a configuration has them: ``{by: PATTERN}``, ``{types: FILE}`` or the relations of each."""
        match groups:
            case {"by": str(pattern)} if len(groups) == 1:
                return cls.of_relations(name, pattern)
            case {"types": str(source)} if len(groups) == 1:
                return cls.of_types(name, source)
        return cls.of_relations(name, groups)

    def divide(self, rows: EvaluatedRows, relations: BoolArray, dataset: Dataset) -> Categories:
        """Return the category of each row; ``relations`` (bool[row]) are those that predict a relation.

        Raises
        ------
        TableError
            if the function, as an installed package may bring it, did not give each row a category
        """
        if self.of_triples or not relations.any():
            return self._checked(self.assign(rows, dataset), len(rows.tails))
        of_entities = EvaluatedRows(rows.triples[~relations], rows.tails[~relations], rows.split)
        categories = self._checked(self.assign(of_entities, dataset), len(of_entities.tails))
        codes = np.full(len(relations), len(categories.names))
        codes[~relations] = categories.codes
        return Categories(codes, (*categories.names, OF_RELATIONS))

    def _checked(self, categories: Any, size: int) -> Categories:
        if not isinstance(categories, Categories):
            raise TableError(f"slice {self.name!r}: expected Categories, found {type(categories).__name__}.")
        codes, names = np.asarray(categories.codes), categories.names
        fits = codes.shape == (size,) and codes.dtype.kind in "iu" and len(set(names)) == len(names)
        if not fits or (size and not 0 <= codes.min() <= codes.max() < len(names)):
            expected = f"{size} whole numbers below {len(names)}, the place of each row's category in the names"
            raise TableError(f"slice {self.name!r}: expected {expected}; found {codes.dtype} of shape {codes.shape}.")
        return Categories(codes, names)

    def refuse_unfit(self, dataset: Dataset) -> None:
        """Refuse a dataset that lacks what the slice needs.

        Raises
        ------
        DatasetError
            with what it lacks
        """
        missing = ["times"] if self.needs_times and dataset.times is None else []
        missing += [f"{split} triples" for split in self.needs if split not in dataset.splits]
        if missing:
            problem = f"slice {self.name!r} needs {missing[0]}, and dataset {dataset.name} has none"
            raise DatasetError(f"{problem}. Leave it out.")
        if self.check is not None:
            self.check(dataset)


@cache
def slices() -> dict[str, Slice]:
    return by_name("slices", [*instances("kgeval.analysis.slices", Slice), *load_entry_points("kgeval.slices", Slice)])


def slice_of(name: str, groups: Mapping[str, Any] | None = None) -> Slice | None:
    """Find the slice of a name among the groups of a configuration and all others, or read an expression of one."""
    if (match := EXPRESSION.fullmatch(name)) is not None:
        make = Slice.of_relations if match[1] == "relation~" else Slice.of_types
        return make(name, match[2])
    named_groups = groupings(groups) if groups else {}
    return Slice.of_groups(name, named_groups[name]) if name in named_groups else slices().get(name)


def find_slice(name: str | Slice) -> Slice:
    if isinstance(name, Slice):
        return name
    member = slice_of(name) if isinstance(name, str) else None
    if member is None:
        raise TableError(f"unknown slice {name!r}. {did_you_mean(str(name), slices(), listed='slices')}")
    return member


def count_pairs(pairs: tuple[IntArray, IntArray], among: tuple[IntArray, IntArray]) -> IntArray:
    """Count how often each pair of ids, in two columns, occurs among others; int64[row].

    >>> count_pairs((np.array([0, 1]), np.array([5, 5])), (np.array([1, 1, 0]), np.array([5, 5, 6])))
    array([0, 2])
    """
    size = 1 + max(int(column.max(initial=0)) for column in (pairs[1], among[1]))
    keys, counts = np.unique(among[0] * size + among[1], return_counts=True)
    return np.append(counts, 0)[find_sorted(keys, pairs[0] * size + pairs[1])]  # the last where there is none


def count_queries(rows: EvaluatedRows, train: Triples) -> IntArray:
    """Count the answers that the query of each row has in train; int64[row]."""
    return np.where(rows.tails, count_heads(rows.triples, train), count_tails(rows.triples, train))


def count_answers(rows: EvaluatedRows, train: Triples) -> IntArray:
    """Count the train triples that have each row's answer in its place, with its relation; int64[row]."""
    return np.where(rows.tails, count_tails(rows.triples, train), count_heads(rows.triples, train))


def count_heads(triples: Triples, among: Triples) -> IntArray:
    """Count how often the head of each triple is the head of one of its relation; int64[triple]."""
    return count_pairs((triples.heads, triples.relations), (among.heads, among.relations))


def count_tails(triples: Triples, among: Triples) -> IntArray:
    """Count how often the tail of each triple is the tail of one of its relation; int64[triple]."""
    return count_pairs((triples.tails, triples.relations), (among.tails, among.relations))


def degrees(triples: Triples, entities: int) -> IntArray:
    """Count the triples that name each entity, a loop once; int64[entity].

    >>> degrees(Triples.of([(0, 0, 1), (1, 0, 1)]), 3)
    array([1, 2, 0])
    """
    ends = [triples.heads, triples.tails[triples.heads != triples.tails]]
    return np.bincount(np.concatenate(ends), minlength=entities)


RelationGroups = Mapping[str, Sequence[str] | str | None] | str
"""the relations of each group, by name or, after ``~``, by pattern, None for all that are left; or a pattern alone"""

IN_NO_GROUP = "in no group"
"""the group of relations and entities that no other group takes"""

Numbered = tuple[IntArray, tuple[str, ...]]
"""int64[relation] or int64[entity], the group of each; and the names of the groups in their order"""


def groupings(groups: Mapping[str, Any], alone: str = "groups") -> dict[str, Any]:
    """Read a block ``groups``: one grouping, whose slice is called ``alone``, or several by the names of their slices.

    >>> groupings({"treats": ["CtD", "CpD"], "rest": None})
    {'groups': {'treats': ['CtD', 'CpD'], 'rest': None}}
    >>> groupings({"domain": {"by": "^/([^/]+)"}, "kind": {"types": "prefix"}})
    {'domain': {'by': '^/([^/]+)'}, 'kind': {'types': 'prefix'}}
    """
    several = bool(groups) and all(isinstance(group, Mapping) for group in groups.values())
    return dict(groups) if several else {alone: groups}


def compiled(pattern: str, *, names_groups: bool = False) -> re.Pattern[str]:
    """Compile a pattern; one that ``names_groups`` has a group in round brackets."""
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise TableError(f"groups: {pattern!r:.80} is no regular expression ({error}).") from error
    if names_groups and not expression.groups:
        problem = f"groups: the pattern {pattern!r:.80} has no part in round brackets, which names the group"
        raise TableError(f"{problem}. An example is '^/([^/]+)'.")
    return expression


def check_groups(groups: Any) -> RelationGroups:
    """Refuse what is no grouping of relations, with the group that is wrong."""
    if isinstance(groups, str):
        compiled(groups, names_groups=True)
        return groups
    if not isinstance(groups, Mapping) or not groups:
        raise TableError(
            f"groups: expected the relations of each group by its name, or a pattern; found {groups!r:.80}."
        )
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


def group_relations(groups: RelationGroups, dataset: Dataset) -> Numbered:
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
        return _numbered(names, sorted({*names} - {IN_NO_GROUP}))
    owner: dict[int, str] = {}
    for group, members in groups.items():
        for name in [members] if isinstance(members, str) else members or ():
            for relation in _matching(name, group, relations):
                if (other := owner.setdefault(relation, group)) != group:
                    problem = f"groups: the relation {relations[relation]!r} is in {other!r} and in {group!r}"
                    raise TableError(f"{problem}. Leave it in one of them.")
    left = next((group for group, members in groups.items() if members is None), IN_NO_GROUP)
    return _numbered([owner.get(relation, left) for relation in range(len(relations))], list(groups))


def group_entities(source: str, dataset: Dataset) -> Numbered:
    """Find the types of each entity; those of an entity that has several are one group, joined by ``+``."""
    types = read_types_of_entities(source, dataset)
    rows = (types.rows.row(entity) for entity in range(len(dataset.entities)))
    names = [" + ".join(types.names[index] for index in row) or IN_NO_GROUP for row in rows]
    return _numbered(names, sorted({*names} - {IN_NO_GROUP}))


def _matching(name: str, group: str, relations: Vocabulary) -> list[int]:
    """Find the relation of a name, or the relations that a pattern matches."""
    if not name.startswith("~"):
        with naming(f"groups: {group!r}", TableError):
            return [relations.id(name)]
    pattern = compiled(name[1:])
    matches = [relation for relation, label in enumerate(relations) if pattern.search(label)]
    if not matches:
        raise TableError(f"groups: {group!r}: no relation matches {name[1:]!r}. One is called {relations[0]!r}.")
    return matches


def _numbered(members: list[str], names: list[str]) -> Numbered:
    names = list(dict.fromkeys([*names, *([IN_NO_GROUP] if IN_NO_GROUP in members else [])]))
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[name] for name in members], np.int64), tuple(names)
