"""A slice: a rule that divides the rows of a rank table by what the dataset says of them; the registry of slices.

A file of this folder declares a :class:`Slice`; its ``assign`` takes :class:`EvaluatedRows` and returns their
:class:`Categories`. ``annotation.py`` adds these to a rank table as a column. ``slice_of`` finds a slice by its name,
and makes the slices that a user writes out as an expression, such as ``types:FILE``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from kgeval.analysis.slices.named_groups import (
    GroupNumbers,
    RelationGroups,
    check_groups,
    group_entities,
    group_relations,
    groupings,
)
from kgeval.analysis.slices.periods import check_periods, group_times
from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import DatasetError, TableError, did_you_mean
from kgeval.base.registries import by_name, instances, load_entry_points
from kgeval.base.tables.shown import Brief
from kgeval.data import History
from kgeval.data.dataset import Dataset, Split
from kgeval.data.entity_types import PREFIX
from kgeval.data.loading import Source, as_datasets
from kgeval.data.other_graphs import OVERLAP_GROUPS, overlap_groups, refuse_foreign
from kgeval.data.triples import Triples
from kgeval.metrics.metric import check_name
from kgeval.ranking.rank_table import SCHEMA, TIME

OF_RELATIONS = "relation side"
"""the category of rows that predict a relation, in a slice that divides rows by their anchor or answer"""

EXPRESSION = re.compile("(relation~|types:|overlap:|period:)(.+)", re.DOTALL)
"""a slice that is written out in place of a name: its prefix, and what the prefix needs"""

WRITTEN = (
    ("relation~PATTERN", "part of the relation's label that matches a regular expression, such as 'relation~^/([^/]+)'",
     "the group is the match of the part in round brackets; 'in no group': the label does not match",
     "kgeval"),
    ("types:FILE", "type of the answer, from a file of rows entity<TAB>type; types:prefix takes Gene from Gene::9021",
     "several types of one entity form one group; 'in no group': the answer has no type", "kgeval"),
    ("overlap:DATASET", "how another graph, such as one of the model's pre-training, has the triple, by its labels",
     "the first that holds: (h, r, t) in train (or in the training graph), in valid or test; pair only: (h, r', t); "
     "swapped only: (t, r', h); none. Several may be joined by commas, after all other names", "kgeval"),
    ("period:NUMBER", "which of so many periods the time is in; or period:month, period:year",
     "the times of the evaluated split, cut into periods of as equal numbers of times as possible", "kgeval"),
    ("FILE.yaml", "own groups, in a file with the keys of 'groups' in a configuration",
     "treats: [CtD, CpD], rest: null; a name after ~ is a pattern; or by: PATTERN; or types: FILE", "kgeval"),
)  # fmt: skip
"""the expressions of slices, as ``kgeval list slices`` shows them: name, title, rule and source"""


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
    >>> import kgeval
    >>> loops = Slice(
    ...     "loops", "triples from an entity to itself", rule="h = t", source="this page", needs=(),
    ...     assign=lambda rows, dataset: Categories.of_flag(rows.triples.heads == rows.triples.tails),
    ... )
    >>> rows = EvaluatedRows(Triples.of([(0, 0, 1), (2, 0, 2)]), np.array([True, True]), Triples.of([]))
    >>> loops.assign(rows, kgeval.load_dataset("nations"))
    Categories(codes=array([1, 0]), names=('yes', 'no'))
    """

    name: str
    """the name of the slice, and of the column that it adds"""
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
    looks_back: bool = False
    """whether it divides rows by the facts before a query: those in the history that the ranks name, or else all"""
    needs_training_graph: bool = False
    """whether the dataset must be inductive"""
    of_triples: bool = False
    """whether the triple of a row decides alone. Other slices also use which part is predicted: they put rows that
    predict relations into a category of their own, since a row's anchor and answer must be entities"""
    check: Callable[[Dataset], object] = lambda _: None
    """a function that raises an error for an unsuitable dataset"""
    files: Callable[[], tuple[str, ...]] = tuple
    """a function that lists the files, beside those of the dataset, from which the slice is read"""

    def __post_init__(self) -> None:
        if not EXPRESSION.fullmatch(self.name):
            check_name("slice", self.name)
        if self.name in (*SCHEMA.names, TIME):
            raise TableError(f"slice {self.name!r}: rank tables have a column of this name. Choose another.")

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
        return cls._by_ids("answers", name, "the type of the answer", f"types: {source}", how, files=lambda: files)

    @classmethod
    def of_overlap(cls, name: str, graphs: Source | Sequence[Source]) -> Slice:
        """Divide rows by how other graphs have their triple, by its labels, at whatever time.

        Parameters
        ----------
        name
            the name of the slice
        graphs
            the other graphs, such as those that a model was pre-trained on: datasets, their folders or PyKEEN names, or
            folders and names joined by commas. A triple is in the first of the groups ``in train`` (or in the training
            graph of an inductive dataset), ``in valid or test``, ``pair only`` (head and tail under other relations),
            ``swapped only`` (tail and head) and ``none`` that holds in any of them

        Raises
        ------
        DatasetError
            when the slice is added to ranks, if a graph cannot be read or has no entity of the dataset
        """
        listed = graphs.split(",") if isinstance(graphs, str) else graphs
        read = cache(lambda: as_datasets(listed))

        def assign(rows: EvaluatedRows, dataset: Dataset) -> Categories:
            return Categories(overlap_groups(rows.triples, dataset, read()), OVERLAP_GROUPS)

        def check(dataset: Dataset) -> None:
            refuse_foreign(name, dataset, read())

        def files() -> tuple[str, ...]:
            return tuple(str(file) for graph in read() for file in graph.files)

        title, rule = "how other graphs have the triple", ", ".join(OVERLAP_GROUPS)
        return cls(name, title, rule, "the user", assign, needs=(), of_triples=True, check=check, files=files)

    @classmethod
    def of_periods(cls, name: str, periods: str) -> Slice:
        """Divide rows by the period of their time: of as many periods as the number says, or by month or year.

        Raises
        ------
        TableError
            if it is neither a number from 1, nor month or year
        DatasetError
            when the slice is added to ranks, if times are no dates, which months and years need
        """
        check_periods(periods)

        def assign(rows: EvaluatedRows, dataset: Dataset) -> Categories:
            times, of_split = (np.asarray(triples.contexts) for triples in (rows.triples, rows.split))
            codes, names = group_times(periods, times, of_split, [*(dataset.times or ())])
            return Categories(codes, tuple(names))

        title = f"which of {periods} periods the time is in" if periods.isdecimal() else f"{periods} of the time"
        rule = "the times of the evaluated split, cut into periods of as equal numbers of times as possible"
        return cls(name, title, rule, "kgeval", assign, needs=(), needs_times=True, of_triples=True)

    @classmethod
    def _by_ids(
        cls, ids: str, name: str, title: str, rule: str, how: Callable[[Dataset], GroupNumbers], **about: Any
    ) -> Slice:
        """Make a slice by the groups of relations or of answers.

        ``ids`` names the attribute of ``EvaluatedRows`` that has them; ``how`` returns the group of each id.
        """

        def assign(rows: EvaluatedRows, dataset: Dataset) -> Categories:
            codes, names = how(dataset)
            return Categories(codes[getattr(rows, ids)], names)

        return cls(name, title, rule, "the user", assign, needs=(), check=how, **about)

    @classmethod
    def of_groups(cls, name: str, groups: Mapping[str, Any]) -> Slice:
        """Read groups as a configuration has them: ``{by: PATTERN}``, ``{types: FILE}`` or {group: relations}."""
        match groups:
            case {"by": str(pattern)} if len(groups) == 1:
                return cls.of_relations(name, pattern)
            case {"types": str(source)} if len(groups) == 1:
                return cls.of_types(name, source)
        return cls.of_relations(name, groups)

    def divide(self, rows: EvaluatedRows, relations: BoolArray, dataset: Dataset) -> Categories:
        """Return the category of each row; ``relations`` (bool[row]) says which rows predict a relation.

        Raises
        ------
        TableError
            if ``assign``, which an installed package may bring, did not give each row a category
        """
        if self.of_triples or not relations.any():
            return self._checked(self.assign(rows, dataset), len(rows.tails))
        of_entities = replace(rows, triples=rows.triples[~relations], tails=rows.tails[~relations])
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
        missing += ["a training graph"] if self.needs_training_graph and dataset.training_graph is None else []
        missing += [f"{split} triples" for split in self.needs if split not in dataset.splits]
        if missing:
            problem = f"slice {self.name!r} needs {missing[0]}, and dataset {dataset.name} has none"
            raise DatasetError(f"{problem}. Leave it out.")
        self.check(dataset)


class Categories(NamedTuple):
    """The category of each row."""

    codes: IntArray
    """the index of each row's category in ``names``; int64[row]"""
    names: tuple[str, ...]
    """the names of the categories, in the order in which groups are shown; a category may have no rows"""

    @classmethod
    def of_flag(cls, holds: BoolArray) -> Categories:
        """Divide rows into ``yes`` and ``no`` by whether something holds of them (bool[row])."""
        return cls(np.where(holds, 0, 1), ("yes", "no"))


@dataclass(frozen=True, eq=False)
class EvaluatedRows:
    """The rows of a rank table, in the ids of the dataset."""

    triples: Triples
    """the triple of each row"""
    tails: BoolArray
    """whether the tail of each row is predicted, and not the head or the relation; bool[row]"""
    split: Triples
    """all triples of the evaluated split, so that a row's category does not depend on the other rows of the table"""
    history: History = "observed"
    """in a temporal graph, the splits whose facts before a query count for slices that look back"""

    @property
    def anchors(self) -> IntArray:
        """The anchor of each row, the entity that its query contains; int64[row]."""
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
        """Return rows for the head and the tail of each triple of the split."""
        tails = np.repeat([False, True], len(self.split))
        return EvaluatedRows(Triples(np.concatenate([self.split.ids, self.split.ids])), tails, self.split)


@cache
def slices() -> dict[str, Slice]:
    return by_name("slices", [*instances("kgeval.analysis.slices", Slice), *load_entry_points("kgeval.slices", Slice)])


def slice_of(name: str, groups: Mapping[str, Any] | None = None) -> Slice | None:
    """Find a slice by name among a configuration's groups and the registered slices, or make it from an expression."""
    if (match := EXPRESSION.fullmatch(name)) is not None:
        makers = {"relation~": Slice.of_relations, "types:": Slice.of_types, "overlap:": Slice.of_overlap}
        makers |= {"period:": Slice.of_periods}
        return makers[match[1]](name, match[2])
    named_groups = groupings(groups) if groups else {}
    return Slice.of_groups(name, named_groups[name]) if name in named_groups else slices().get(name)


def slices_among(names: Iterable[str], groups: Mapping[str, Any] | None = None) -> list[Slice]:
    """Return the slices among some names, which may also be columns; ``groups`` are a configuration's own slices."""
    return [one for name in names if (one := slice_of(name, groups)) is not None]


def find_slice(name: str | Slice) -> Slice:
    if isinstance(name, Slice):
        return name
    member = slice_of(name) if isinstance(name, str) else None
    if member is None:
        raise TableError(f"unknown slice {name!r}. {did_you_mean(str(name), slices(), listed='slices')}")
    return member
