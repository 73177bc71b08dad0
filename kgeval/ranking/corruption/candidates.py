"""Candidates: the entities that are ranked with the answers of a query, the same for all queries or different ones.

Corruptions return them; ``model_ranking`` and ``predictions/predict`` put them into a ``RankingTask``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import InputError, counted
from kgeval.data.queries import Rows


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates of some queries.

    >>> own = Candidates(Rows.of([[3, 5], [4]]))
    >>> own.num_candidates(2), own.ids_of(1)
    (array([2, 1]), array([4]))
    >>> Candidates.shared(np.array([0, 1, 2])).num_candidates(2)
    array([3, 3])
    """

    rows: Rows
    """entity ids, one row a query, ascending, and distinct unless ``as_listed``; a single row if all queries share
    it"""
    notes: tuple[str, ...] = ()
    """what a reader of the results should know about these candidates"""
    as_listed: bool = False
    """whether every entry of a row is a candidate: an entity as often as it is listed, and the answer itself"""
    is_shared: bool = False
    """whether all queries have the same candidates"""

    @classmethod
    def shared(cls, ids: IntArray, notes: tuple[str, ...] = ()) -> Candidates:
        """Take the same entities for every query; int64[candidate], ascending."""
        return cls(Rows(np.array([0, len(ids)]), ids), notes, is_shared=True)

    def __getitem__(self, part: slice) -> Candidates:
        return self if self.is_shared else replace(self, rows=self.rows[part])

    @property
    def shared_ids(self) -> IntArray | None:
        """The candidates of every query, int64[candidate], if all queries have the same; else None."""
        return self.rows.ids if self.is_shared else None

    @property
    def max_width(self) -> int:
        return int(self.rows.lengths.max(initial=0))

    def num_candidates(self, num_queries: int) -> IntArray:
        """Count the candidates of each query; int64[query]."""
        return np.repeat(self.rows.lengths, num_queries) if self.is_shared else self.rows.lengths

    def ids_of(self, query: int) -> IntArray:
        return self.rows.row(0 if self.is_shared else query)

    def per_query(self, num_queries: int) -> Rows:
        """Return the candidates of all queries, one row each."""
        if not self.is_shared:
            return self.rows
        return Rows.sized(self.num_candidates(num_queries), np.tile(self.rows.ids, num_queries))

    def alike(self, num_queries: int) -> Iterator[tuple[slice, Candidates]]:
        """Cut queries into runs with the same candidates; yield each run, and its candidates as shared ones."""
        rows = [self.ids_of(query) for query in range(1 if self.is_shared else num_queries)]
        starts = [at for at, ids in enumerate(rows) if not (at and np.array_equal(ids, rows[at - 1]))]
        for start, stop in zip(starts, [*starts[1:], num_queries], strict=True):
            yield slice(start, stop), Candidates.shared(np.unique(rows[start]))

    def positions(self, queries: IntArray, ids: IntArray) -> IntArray:
        """Find the position of each entity among the candidates of its query, -1 if it is not one; int64[entity]."""
        if not self.is_shared:
            return self.rows.positions(queries, ids)
        places = np.full(1 + max(self.rows.ids.max(initial=-1), ids.max(initial=-1)), -1)
        places[self.rows.ids] = np.arange(len(self.rows.ids))
        return places[ids]

    def restricted_to(self, allowed: BoolArray) -> Candidates:
        """Keep the entities for which ``allowed`` (bool[entity]) holds."""
        return self if allowed.all() else replace(self, rows=self.rows.where(allowed[self.rows.ids]))

    def check(self, num_queries: int, num_entities: int) -> None:
        """Refuse candidates that are not ascending entity ids for this number of queries."""
        ids = self.rows.ids
        if not isinstance(ids, np.ndarray) or ids.dtype != np.int64 or ids.ndim != 1:
            actual = f"{ids.dtype} of shape {ids.shape}" if isinstance(ids, np.ndarray) else type(ids).__name__
            raise InputError(f"candidates are an int64 array of entity ids, not {actual}.")
        if not self.is_shared and len(self.rows) != num_queries:
            actual = counted(len(self.rows), "query")
            raise InputError(f"found candidates for {actual}; expected {num_queries}.")
        if len(ids) and (ids.min() < 0 or ids.max() >= num_entities):
            wrong = ids.min() if ids.min() < 0 else ids.max()
            raise InputError(f"a candidate is entity {wrong}, but the entities are 0 to {num_entities - 1}.")
        steps, within = np.diff(ids), np.diff(self.rows.owners) == 0
        if (steps[within] < (0 if self.as_listed else 1)).any():
            raise InputError("candidates of a query must be ascending and distinct. Pass each row through np.unique.")
