"""A slice: a rule that divides the rows of a rank table by what its dataset says of them; and their registry."""

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
        """Both sides of every triple of the split."""
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
        """Refuse a name that no column could have."""
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
            raise TableError(
                f"slice {self.name!r}: expected one of its {len(names)} categories for each of {size} rows."
            )
        return Categories(codes, names)

    def refuse_unfit(self, dataset: Dataset) -> None:
        """Refuse a dataset that cannot give it.

        Raises
        ------
        DatasetError
            with what it lacks
        """
        if self.needs_times and dataset.times is None:
            raise DatasetError(f"slice {self.name!r} needs times, and dataset {dataset.name} has none. Leave it out.")
        for split in self.needs:
            if split not in dataset.splits:
                raise DatasetError(
                    f"slice {self.name!r} needs {split} triples, and dataset {dataset.name} has none. Leave it out."
                )


@cache
def slices() -> dict[str, Slice]:
    """Return all slices by name, those of installed packages too."""
    return by_name("slices", [*instances("kgeval.analysis.slices", Slice), *brought("kgeval.slices", Slice)])


def find_slice(name: str | Slice) -> Slice:
    """Find a slice by name; a slice is itself."""
    if isinstance(name, Slice):
        return name
    if not isinstance(name, str) or name not in slices():
        hint = did_you_mean(str(name), slices())
        raise TableError(f"unknown slice {name!r}. {hint} 'kgeval list slices' shows all.")
    return slices()[name]
