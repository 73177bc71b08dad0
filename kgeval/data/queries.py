"""Queries: the distinct questions (anchor, relation, ?) behind a set of triples, each with the answers to be ranked.

Every ranking makes them of test triples: ``Queries.of(triples, "tail")``. ``Rows`` hold several ids for each query,
such as its known answers, in rows of different lengths. :func:`query_names` names queries in files of predictions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import InputError
from kgeval.data.triples import Side, Triples


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries of one side, distinct if made by :meth:`of`, with the answers that are ranked for each.

    A query about the tail is (anchor, relation, ?), about the head (?, relation, anchor), about the relation
    (head, ?, tail). In a temporal graph the time is part of the query. The answers of
    query ``q`` are ``offsets[q]:offsets[q + 1]``.

    Examples
    --------
    >>> queries = Queries.of(Triples.of([(0, 0, 1), (0, 0, 2), (3, 0, 1)]), "tail")
    >>> queries.anchors, queries.offsets, queries.answers
    (array([0, 3]), array([0, 2, 3]), array([1, 2, 1]))
    """

    side: Side
    anchors: IntArray
    """int64[query], the entity that the query names; for (h, ?, t), the head"""
    relations: IntArray
    """int64[query], the relation; for (h, ?, t), which names no relation, the tail"""
    offsets: IntArray
    """int64[query + 1], into the answers"""
    answers: IntArray
    """int64[answer], the entity of each answer, or its relation"""
    triples: IntArray
    """int64[answer], the row of its triple"""
    contexts: IntArray | None = None
    """int64[query], the context (id of the time) of the query; None if the triples have no times"""

    @classmethod
    def of(cls, triples: Triples, side: Side) -> Queries:
        """Collect the distinct queries of one side, in (relation, anchor, context) order; no Python loop."""
        anchors, relations, answers = triples.queries_of_side(side)
        contexts = () if triples.contexts is None else (triples.contexts,)
        order = np.lexsort((answers, *contexts, anchors, relations))
        first = starts_of_runs(*(column[order] for column in (relations, anchors, *contexts)))
        asked, offsets = order[first], np.r_[first, len(order)].astype(np.int64)
        times = None if triples.contexts is None else triples.contexts[asked]
        return cls(side, anchors[asked], relations[asked], offsets, answers[order], order, times)

    @classmethod
    def per_triple(cls, triples: Triples, side: Side, *, as_given: bool = False) -> Queries:
        """Make one query of every triple, for candidates that belong to triples.

        They are in order of their relations, or ``as_given``.
        """
        anchors, relations, answers = triples.queries_of_side(side)
        order = np.arange(len(triples)) if as_given else np.argsort(relations, kind="stable")
        offsets, contexts = np.arange(len(triples) + 1), triples[order].contexts
        return cls(side, anchors[order], relations[order], offsets, answers[order], order, contexts)

    def __len__(self) -> int:
        return len(self.anchors)

    @property
    def only_answers(self) -> IntArray:
        """The answer of each query with exactly one answer, −1 for other queries; int64[query]."""
        answers, alone = np.full(len(self), -1), np.diff(self.offsets) == 1
        answers[alone] = self.answers[self.offsets[:-1][alone]]
        return answers

    def __getitem__(self, part: slice) -> Queries:
        start, stop, _ = part.indices(len(self))
        offsets = self.offsets[start : stop + 1]
        return self._taken(slice(start, stop), offsets - offsets[0], slice(offsets[0], offsets[-1]))

    def where(self, keep: BoolArray) -> Queries:
        """Keep the queries for which ``keep`` (bool[query]) holds, with their answers."""
        offsets = np.concatenate([[0], np.cumsum(np.diff(self.offsets)[keep])]).astype(np.int64)
        return self._taken(keep, offsets, keep[self.owners])

    def _taken(self, queries: BoolArray | slice, offsets: IntArray, answers: BoolArray | slice) -> Queries:
        return replace(
            self,
            anchors=self.anchors[queries],
            relations=self.relations[queries],
            offsets=offsets,
            answers=self.answers[answers],
            triples=self.triples[answers],
            contexts=None if self.contexts is None else self.contexts[queries],
        )

    @property
    def times(self) -> IntArray:
        """The time of each query; int64[query]."""
        if self.contexts is None:
            how = "In a dataset, it is the fourth column; in a single query, the fourth part (--at TIME)."
            raise InputError(f"the model needs the time of each query, but the queries have none. {how}")
        return self.contexts

    @property
    def num_answers(self) -> int:
        """How many answers are ranked, one for each triple."""
        return len(self.answers)

    @property
    def owners(self) -> IntArray:
        """The query of each answer; int64[answer]."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))


@dataclass(frozen=True, eq=False)
class Rows:
    """One row of ids per query; row ``q`` is ``ids[offsets[q]:offsets[q + 1]]``.

    Examples
    --------
    >>> rows = Rows.of([[3, 5], [], [4]])
    >>> rows.row(0), rows.lengths
    (array([3, 5]), array([2, 0, 1]))
    >>> rows[1:3].row(1)
    array([4])
    """

    offsets: IntArray
    """int64[query + 1], from 0 to the number of ids"""
    ids: IntArray
    """int64[id]"""

    @classmethod
    def of(cls, rows: Iterable[Iterable[int]]) -> Rows:
        arrays = [np.asarray(list(row), np.int64) for row in rows]
        return cls.sized(np.array([*map(len, arrays)], np.int64), np.concatenate([*arrays, np.empty(0, np.int64)]))

    @classmethod
    def sized(cls, lengths: IntArray, ids: IntArray) -> Rows:
        """Cut the ids of all rows, one row after the other, into rows of these lengths."""
        return cls(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), ids)

    @classmethod
    def spans(cls, starts: IntArray, stops: IntArray, pool: IntArray) -> Rows:
        """Gather ``pool[starts[q]:stops[q]]`` as row ``q``."""
        lengths = stops - starts
        shifts = np.repeat(stops - np.cumsum(lengths), lengths)
        return cls.sized(lengths, pool[np.arange(len(shifts)) + shifts])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, part: slice) -> Rows:
        start, stop, _ = part.indices(len(self))
        offsets = self.offsets[start : stop + 1]
        return Rows(offsets - offsets[0], self.ids[offsets[0] : offsets[-1]])

    @property
    def lengths(self) -> IntArray:
        """The number of ids in each row; int64[query]."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> IntArray:
        """The query that each id belongs to; int64[id]."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def row(self, query: int) -> IntArray:
        return self.ids[self.offsets[query] : self.offsets[query + 1]]

    def positions(self, owners: IntArray, ids: IntArray) -> IntArray:
        """Find the place of each id in its owner's row, which is ascending; -1 where it is not in it; int64[id].

        >>> Rows.of([[3, 5], [4]]).positions(np.array([0, 0, 1]), np.array([5, 4, 4]))
        array([ 1, -1,  0])
        """
        # All rows are bisected side by side: the memory depends on the number of sought ids alone, not on the rows.
        starts, stops = self.offsets[owners], self.offsets[owners + 1]
        places, ends = starts.copy(), stops.copy()
        padded = self.ids if len(self.ids) else np.array([-1])
        while (places < ends).any():
            middle = (places + ends) // 2
            below = (places < ends) & (padded[np.minimum(middle, len(padded) - 1)] < ids)
            places, ends = np.where(below, middle + 1, places), np.where(below, ends, np.minimum(middle, ends))
        there = (places < stops) & (padded[np.minimum(places, len(padded) - 1)] == ids)
        return np.where(there, places - starts, -1)

    def where(self, keep: BoolArray) -> Rows:
        """Keep the ids for which ``keep`` (bool[id]) holds, in their rows."""
        return Rows.sized(np.bincount(self.owners[keep], minlength=len(self)), self.ids[keep])


def starts_of_runs(*columns: IntArray | Float64Array) -> IntArray:
    """Where a new combination of values begins in sorted columns.

    >>> starts_of_runs(np.array([1, 1, 2]), np.array([0, 1, 1]))
    array([0, 1, 2])
    """
    changed = np.zeros(max(len(columns[0]) - 1, 0), np.bool_)
    for column in columns:
        changed |= column[1:] != column[:-1]
    return np.flatnonzero(np.r_[np.ones(min(len(columns[0]), 1), np.bool_), changed])


ID = "[0-9]{1,18}"

NAME = rf"^(?P<side>head|tail)-(?P<anchor>{ID})-(?P<relation>{ID})(?:-(?P<time>{ID}))?$"
"""the pattern of a query's name, such as ``tail-12-3``: side, anchor, relation, and the time if there is one"""


def query_names(sides: Iterable[str], *ids: IntArray) -> npt.NDArray[np.object_]:
    """Name each query; object[query].

    ``ids`` are the anchors and the relations, and in a temporal graph the times; int64[query] each.

    Examples
    --------
    >>> query_names(["tail", "head"], np.array([12, 5]), np.array([3, 0]))
    array(['tail-12-3', 'head-5-0'], dtype=object)
    """
    columns = (column.tolist() for column in ids)
    return np.array(["-".join(map(str, parts)) for parts in zip(sides, *columns, strict=True)], object)
