"""Candidates: the entities that compete with the answers of each query; the same for all queries, or each its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kgeval.arrays import BoolArray, IntArray
from kgeval.data.rows import Rows
from kgeval.errors import InputError


class Candidates(ABC):
    """The candidates of some queries."""

    notes: tuple[str, ...]
    """what a reader of the results should know about these candidates"""
    as_listed: bool = False
    """whether every place of a list competes: an entity as often as it is listed, and an answer with itself"""

    @abstractmethod
    def __getitem__(self, part: slice) -> Candidates:
        """Take the candidates of some of the queries."""

    @property
    @abstractmethod
    def shared_ids(self) -> IntArray | None:
        """The candidates of every query, if all have the same; int64[candidate]."""

    @property
    @abstractmethod
    def max_width(self) -> int:
        """The largest number of candidates of a query."""

    @abstractmethod
    def num_candidates(self, num_queries: int) -> IntArray:
        """Count the candidates of each query; int64[query]."""

    @abstractmethod
    def ids_of(self, query: int) -> IntArray:
        """Return the candidates of one query; int64[candidate]."""

    @abstractmethod
    def per_query(self, num_queries: int) -> Rows:
        """Return the candidates of all queries, one row each."""

    @abstractmethod
    def positions(self, queries: IntArray, ids: IntArray) -> IntArray:
        """Find the position of each entity among the candidates of its query, -1 where it is none; int64[entity]."""

    @abstractmethod
    def restricted_to(self, allowed: BoolArray) -> Candidates:
        """Keep the entities for which ``allowed`` (bool[entity]) holds."""

    @abstractmethod
    def check(self, num_queries: int, num_entities: int) -> None:
        """Refuse candidates that are no ids of entities, ascending, for so many queries.

        Raises
        ------
        InputError
            with what is wrong
        """


@dataclass(frozen=True, eq=False)
class SharedCandidates(Candidates):
    """The same entities for every query."""

    ids: IntArray
    """int64[candidate], ascending"""
    notes: tuple[str, ...] = ()

    def __getitem__(self, part: slice) -> SharedCandidates:
        return self

    @property
    def shared_ids(self) -> IntArray:
        """The entities."""
        return self.ids

    @property
    def max_width(self) -> int:
        """How many entities there are."""
        return len(self.ids)

    def num_candidates(self, num_queries: int) -> IntArray:
        """Count the entities, for each query."""
        return np.full(num_queries, len(self.ids))

    def ids_of(self, query: int) -> IntArray:
        """Return the entities, whatever the query."""
        return self.ids

    def per_query(self, num_queries: int) -> Rows:
        """Repeat the entities for each query."""
        return Rows.sized(self.num_candidates(num_queries), np.tile(self.ids, num_queries))

    def positions(self, queries: IntArray, ids: IntArray) -> IntArray:
        """Find the position of each entity, -1 where it is no candidate."""
        found = np.full(1 + max(self.ids.max(initial=-1), ids.max(initial=-1)), -1)
        found[self.ids] = np.arange(len(self.ids))
        return found[ids]

    def restricted_to(self, allowed: BoolArray) -> SharedCandidates:
        """Keep the entities that are allowed."""
        return replace(self, ids=self.ids[allowed[self.ids]])

    def check(self, num_queries: int, num_entities: int) -> None:
        """Refuse what are no ids of entities, ascending and distinct."""
        _check_ids(self.ids, num_entities)
        if (np.diff(self.ids) <= 0).any():
            raise InputError("the candidates are not ascending and distinct. Pass them through np.unique.")


@dataclass(frozen=True, eq=False)
class QueryCandidates(Candidates):
    """Entities of its own for each query."""

    rows: Rows
    """one row a query, ascending, and distinct unless they compete as listed"""
    notes: tuple[str, ...] = ()
    as_listed: bool = False

    def __getitem__(self, part: slice) -> QueryCandidates:
        return replace(self, rows=self.rows[part])

    @property
    def shared_ids(self) -> None:
        """None: each query has its own."""
        return

    @property
    def max_width(self) -> int:
        """The length of the longest row."""
        return int(self.rows.lengths.max(initial=0))

    def num_candidates(self, num_queries: int) -> IntArray:
        """Count the entities of each query."""
        return self.rows.lengths

    def ids_of(self, query: int) -> IntArray:
        """Return the entities of one query."""
        return self.rows.row(query)

    def per_query(self, num_queries: int) -> Rows:
        """Return the rows."""
        return self.rows

    def positions(self, queries: IntArray, ids: IntArray) -> IntArray:
        """Find the position of each entity in the row of its query, -1 where it is not in it."""
        return self.rows.positions(queries, ids)

    def restricted_to(self, allowed: BoolArray) -> QueryCandidates:
        """Keep the entities that are allowed."""
        return self if allowed.all() else replace(self, rows=self.rows.where(allowed[self.rows.ids]))

    def check(self, num_queries: int, num_entities: int) -> None:
        """Refuse another number of rows, and rows that are no ids of entities, ascending and distinct."""
        if len(self.rows) != num_queries:
            raise InputError(f"there are candidates of {len(self.rows)} queries where {num_queries} are asked.")
        _check_ids(self.rows.ids, num_entities)
        steps, within = np.diff(self.rows.ids), np.diff(self.rows.owners) == 0
        if (steps[within] < (0 if self.as_listed else 1)).any():
            raise InputError("a query's candidates are not ascending and distinct. Pass each row through np.unique.")


def _check_ids(ids: Any, num_entities: int) -> None:
    if not isinstance(ids, np.ndarray) or ids.dtype != np.int64 or ids.ndim != 1:
        found = f"{ids.dtype} of shape {ids.shape}" if isinstance(ids, np.ndarray) else type(ids).__name__
        raise InputError(f"candidates are an int64 array of entity ids, not {found}.")
    if len(ids) and (ids.min() < 0 or ids.max() >= num_entities):
        strange = ids.min() if ids.min() < 0 else ids.max()
        raise InputError(f"a candidate is entity {strange}, but the dataset's {num_entities} entities start at 0.")
