"""Candidates: the entities that compete with the answers of each query, and the generators that choose them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from kgeval.arrays import BoolArray, IntArray
from kgeval.data.dataset import Dataset, Split
from kgeval.data.known import known_answers
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows
from kgeval.data.triples import Side, Triples
from kgeval.settings.settings import Settings


@dataclass(frozen=True, eq=False)
class SharedCandidates:
    """The same entities for every query."""

    ids: IntArray
    """int64[candidate], ascending"""
    notes: tuple[str, ...] = ()
    """what a reader of the results should know about these candidates"""

    def __getitem__(self, part: slice) -> SharedCandidates:
        return self

    @property
    def sizes(self) -> IntArray:
        """How many entities a query has, whichever it is; int64[1]."""
        return np.array([len(self.ids)])

    def among(self, allowed: BoolArray) -> SharedCandidates:
        """Keep the entities for which ``allowed`` (bool[entity]) holds."""
        return SharedCandidates(self.ids[allowed[self.ids]], self.notes)


@dataclass(frozen=True, eq=False)
class QueryCandidates:
    """Entities of its own for each query."""

    rows: Rows
    """one row a query, ascending, and distinct unless they compete as listed"""
    notes: tuple[str, ...] = ()
    as_listed: bool = False
    """whether every place of a list competes: an entity as often as it is said, and an answer's own with it"""

    def __getitem__(self, part: slice) -> QueryCandidates:
        return replace(self, rows=self.rows[part])

    @property
    def sizes(self) -> IntArray:
        """How many entities each query has; int64[query]."""
        return self.rows.lengths

    def among(self, allowed: BoolArray) -> QueryCandidates:
        """Keep the entities for which ``allowed`` (bool[entity]) holds."""
        if allowed.all():
            return self
        return replace(self, rows=self.rows.where(allowed[self.rows.ids]))


Candidates = SharedCandidates | QueryCandidates


class CorruptionGenerator(Settings):
    """Chooses which entities compete with the answer of a query.

    A generator is its own configuration: ``{kind: uniform, count: 500}`` *is* ``Uniform(count=500)``. Whatever it
    proposes, an answer never competes with itself, and the filter still takes known answers out of the ranking.
    """

    allows_known: ClassVar[bool] = False
    """whether known answers may be among its negatives"""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that it reads."""
        return ()

    @property
    def learns_from(self) -> tuple[Split, ...]:
        """The splits whose triples tell it what to propose."""
        return ()

    def queries(self, triples: Triples, side: Side) -> Queries:
        """Collect the queries that get candidates: each distinct one, once for all of its answers."""
        return Queries.of(triples, side)

    def in_hand(self, memory: int, dataset: Dataset) -> int | None:
        """Tell of how many queries the candidates may be chosen at a time, in some bytes; none: of all at once."""
        return None

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        """Choose the candidates of each query.

        Parameters
        ----------
        queries
            queries of one side, from :meth:`queries`
        known
            the known answers of each query, ascending
        dataset
            the graph, whose ids all three share
        """
        raise NotImplementedError

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        """Say in a few words which candidates it chose, as in ``20 uniform (seed 0)``.

        Parameters
        ----------
        dataset
            the graph
        sizes
            int64[query], how many candidates each query got
        """
        raise NotImplementedError

    def check(self, triples: Triples, sides: Sequence[Side], dataset: Dataset) -> None:
        """Refuse files that are damaged or fit none of the queries, before any work is done.

        Raises
        ------
        DatasetError
            as :meth:`candidates` does
        """
        for queries in (self.queries(triples, side) for side in sides):
            self.candidates(queries, known_answers(queries, []), dataset)


def spelt(sizes: IntArray) -> str:
    """Spell how many candidates queries have.

    >>> spelt(np.array([1, 2310, 7])), spelt(np.array([500, 500]))
    ('1 to 2,310', '500')
    """
    fewest, most = int(sizes.min()), int(sizes.max())
    return f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
