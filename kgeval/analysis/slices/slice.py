"""A slice: a rule that divides the rows of a rank table by what its dataset says of them; registry, and counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from kgeval.arrays import BoolArray, IntArray
from kgeval.data.dataset import Dataset, Split
from kgeval.data.triples import Triples
from kgeval.discovery import brought, by_name, instances
from kgeval.errors import DatasetError, TableError, did_you_mean
from kgeval.metrics.metric import check_name
from kgeval.ranking.rank_table import SCHEMA

OF_RELATIONS = "relation side"
"""the category of rows that predict a relation, where a slice is of entities"""


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


@dataclass(frozen=True)
class Slice:
    """A slice: its name, what ``kgeval list slices`` prints of it, and the function that divides rows.

    Raises
    ------
    MetricError
        if its name is not of lower-case letters, digits, - and _
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
    """the splits that a dataset must have for it"""
    needs_times: bool = False
    """whether its triples must have times"""
    of_triples: bool = False
    """whether the triple of a row decides, whatever is predicted of it; other slices take a row's anchor or answer for
    an entity, and put rows that predict relations into a category of their own"""

    def __post_init__(self) -> None:
        check_name("slice", self.name)
        if self.name in SCHEMA.names:
            raise TableError(f"slice {self.name!r}: every rank table has a column of this name. Choose another.")

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
        found = self._checked(self.assign(of_entities, dataset), len(of_entities.tails))
        codes = np.full(len(relations), len(found.names))
        codes[~relations] = found.codes
        return Categories(codes, (*found.names, OF_RELATIONS))

    def _checked(self, found: Any, size: int) -> Categories:
        if not isinstance(found, Categories):
            raise TableError(f"slice {self.name!r}: expected Categories, found {type(found).__name__}.")
        codes, names = np.asarray(found.codes), found.names
        fits = codes.shape == (size,) and codes.dtype.kind in "iu" and len(set(names)) == len(names)
        if not fits or (size and not 0 <= codes.min() <= codes.max() < len(names)):
            expected = f"{size} whole numbers below {len(names)}, the place of each row's category in the names"
            raise TableError(f"slice {self.name!r}: expected {expected}; found {codes.dtype} of shape {codes.shape}.")
        return Categories(codes, names)

    def refuse_unfit(self, dataset: Dataset) -> None:
        """Refuse a dataset that cannot give it.

        Raises
        ------
        DatasetError
            with what it lacks
        """
        missing = ["times"] if self.needs_times and dataset.times is None else []
        missing += [f"{split} triples" for split in self.needs if split not in dataset.splits]
        if missing:
            what = f"slice {self.name!r} needs {missing[0]}, and dataset {dataset.name} has none"
            raise DatasetError(f"{what}. Leave it out.")


@cache
def slices() -> dict[str, Slice]:
    return by_name("slices", [*instances("kgeval.analysis.slices", Slice), *brought("kgeval.slices", Slice)])


def find_slice(name: str | Slice) -> Slice:
    if isinstance(name, Slice):
        return name
    if not isinstance(name, str) or name not in slices():
        hint = did_you_mean(str(name), slices())
        raise TableError(f"unknown slice {name!r}. {hint} 'kgeval list slices' shows all.")
    return slices()[name]


def count_pairs(pairs: tuple[IntArray, IntArray], among: tuple[IntArray, IntArray]) -> IntArray:
    """Count how often each pair of ids, in two columns, occurs among others; int64[row].

    >>> count_pairs((np.array([0, 1]), np.array([5, 5])), (np.array([1, 1, 0]), np.array([5, 5, 6])))
    array([0, 2])
    """
    size = 1 + max(int(column.max(initial=0)) for column in (pairs[1], among[1]))
    keys, counts = np.unique(among[0] * size + among[1], return_counts=True)
    if not len(keys):
        return np.zeros(len(pairs[0]), np.int64)
    sought = pairs[0] * size + pairs[1]
    places = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
    return np.where(keys[places] == sought, counts[places], 0)


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
