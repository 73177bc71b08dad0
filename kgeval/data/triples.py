"""Triples of ids: rows of (head, relation, tail), which may have a time.

A dataset has ``Triples`` for each split; queries are made of them. ``TripleIndex`` finds triples in a set, whatever
their times; ``LabelledTriples`` have a number, such as a confidence, beside each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import DatasetError, counted, reason
from kgeval.base.tables.shown import Brief
from kgeval.data import SIDES as SIDES
from kgeval.data import TARGETS as TARGETS
from kgeval.data import EntitySide as EntitySide
from kgeval.data import Side as Side

Part = TypeVar("Part")

BLOCK = 1 << 16
"""how many triples are turned into Python's numbers at a time"""


@dataclass(frozen=True, eq=False, repr=False)
class Triples(Brief):
    """Rows of (head id, relation id, tail id).

    Examples
    --------
    >>> triples = Triples.of([(0, 0, 1), (1, 0, 2), (0, 0, 1)])
    >>> triples.tails
    array([1, 2, 1])
    >>> [*triples], triples[-1], len(triples[:2])
    ([(0, 0, 1), (1, 0, 2), (0, 0, 1)], (0, 0, 1), 2)
    >>> triples.distinct().triples.ids.tolist(), triples.distinct().multiplicity
    ([[0, 0, 1], [1, 0, 2]], array([2, 1]))
    """

    ids: IntArray
    """int64[triple, 3], columns head, relation, tail"""
    contexts: IntArray | None = None
    """int64[triple], the id of the time of each triple; ``None`` if there are no times"""

    def _brief(self) -> str:
        return counted(len(self), "triple")

    @classmethod
    def of(cls, rows: Triples | Iterable[tuple[int, int, int]] | npt.ArrayLike) -> Triples:
        """Make triples from rows of three ids; ``Triples`` are returned unchanged.

        Raises
        ------
        DatasetError
            if the shape or type is wrong, or if an id is negative or larger than 2^63 − 1

        Examples
        --------
        >>> Triples.of([(0, 0, 1), (1, 0)])
        Traceback (most recent call last):
        kgeval.base.errors.DatasetError: triples must be integer ids of shape (n, 3): row 1 is not as long as row 0.
        """
        if isinstance(rows, Triples):
            return rows
        ids = _as_array(rows)
        if ids.shape in {(0,), (0, 3)}:
            return cls(np.empty((0, 3), np.int64))
        if ids.ndim != 2 or ids.shape[1] != 3 or ids.dtype.kind not in "iu":
            raise DatasetError(f"triples must be integer ids of shape (n, 3), not {ids.dtype} of shape {ids.shape}.")
        wrong = (ids < 0) | (ids > np.iinfo(np.int64).max)
        if wrong.any():
            row = int(np.argmax(wrong.any(axis=1)))
            raise DatasetError(f"triple {row} is {tuple(ids[row].tolist())}: ids start at 0 and end before 2^63.")
        return cls(np.ascontiguousarray(ids, dtype=np.int64))

    @classmethod
    def concatenated(cls, parts: Sequence[Triples]) -> Triples:
        """Concatenate sets of triples, of which all or none have contexts.

        >>> Triples.concatenated([Triples.of([(0, 0, 1)]), Triples.of([(1, 0, 2)])]).tails
        array([1, 2])
        """
        if not parts:
            return cls.of([])
        contexts = [part.contexts for part in parts if part.contexts is not None]
        return cls(np.concatenate([part.ids for part in parts]), np.concatenate(contexts) if contexts else None)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Yield each triple as a tuple of ids (``int``): head, relation, tail, and the time if it has one."""
        columns = [*self.ids.T, *([] if self.contexts is None else [self.contexts])]
        for start in range(0, len(self), BLOCK):
            yield from zip(*(column[start : start + BLOCK].tolist() for column in columns), strict=True)

    @overload
    def __getitem__(self, rows: int | np.integer[Any]) -> tuple[int, ...]: ...

    @overload
    def __getitem__(self, rows: IntArray | BoolArray | slice) -> Triples: ...

    def __getitem__(self, rows: int | np.integer[Any] | IntArray | BoolArray | slice) -> Triples | tuple[int, ...]:
        if not isinstance(rows, slice | list):
            rows = np.asarray(rows)  # a tensor of one row would be taken as a number
            if rows.ndim == 0:
                return next(iter(self[rows[None]]))
        return Triples(self.ids[rows], None if self.contexts is None else self.contexts[rows])

    def without_contexts(self) -> Triples:
        """Return the triples without their times."""
        return Triples(self.ids)

    @property
    def heads(self) -> IntArray:
        """The head of each triple; int64[triple]."""
        return self.ids[:, 0]

    @property
    def relations(self) -> IntArray:
        """The relation of each triple; int64[triple]."""
        return self.ids[:, 1]

    @property
    def tails(self) -> IntArray:
        """The tail of each triple; int64[triple]."""
        return self.ids[:, 2]

    def queries_of_side(self, side: Side) -> SideQueries:
        """Split each triple into the query of one side and its answer.

        >>> Triples.of([(5, 0, 7)]).queries_of_side("relation")
        SideQueries(anchors=array([5]), relations=array([7]), answers=array([0]))
        """
        return SideQueries(*(self.ids[:, place] for place in PLACES[side]))

    def distinct(self) -> Distinct:
        """Keep the first of equal triples, in the original order; triples at different times are different."""
        if len(self) == 0:
            return Distinct(self, None)
        keys = self._keys()
        ascending = np.sort(keys)  # many times faster than to sort rows, which only repeated triples need
        if not (ascending[1:] == ascending[:-1]).any():
            return Distinct(self, None)
        _, first, multiplicity = np.unique(keys, return_index=True, return_counts=True)
        order = np.argsort(first)
        return Distinct(self[first[order]], multiplicity[order])

    def _keys(self) -> IntArray:
        """Return a number for each triple, the same for equal ones: it sorts many times faster than three do."""
        columns = [*self.ids.T, *([] if self.contexts is None else [self.contexts])]
        widths = [int(width) + 1 for width in self.ids.view(np.uint64).max(axis=0)]
        widths += [int(column.view(np.uint64).max()) + 1 for column in columns[3:]]
        if math.prod(widths) >= 2**63:  # or an id is negative
            return np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].ravel()
        keys: IntArray = columns[0].copy()
        for column, width in zip(columns[1:], widths[1:], strict=True):
            keys *= width
            keys += column
        return keys


PLACES: Mapping[Side, tuple[int, int, int]] = {"relation": (0, 2, 1), "tail": (0, 1, 2), "head": (2, 1, 0)}
"""for each side: the columns of a triple that hold the anchor, the relation and the answer of its query. Each order is
its own inverse, so it also turns a query into a triple"""


class SideQueries(NamedTuple):
    """Triples as queries, (anchor, relation, ?), with one answer each; int64[triple] all three."""

    anchors: IntArray
    """the entity that the query names; for (h, ?, t), the head"""
    relations: IntArray
    """the relation; for (h, ?, t), which names no relation, the tail"""
    answers: IntArray


def triple_of(side: Side, anchor: Part, relation: Part, answer: Part) -> tuple[Part, Part, Part]:
    """Put a query and an answer, as :meth:`Triples.queries_of_side` divides a triple, together again.

    >>> triple_of("head", 1, 0, -1), triple_of("relation", 1, 2, 0)
    ((-1, 0, 1), (1, 0, 2))
    """
    head, relation, tail = ((anchor, relation, answer)[place] for place in PLACES[side])
    return head, relation, tail


class Distinct(NamedTuple):
    """Triples without repetitions, and how often each occurred."""

    triples: Triples
    multiplicity: IntArray | None
    """int64[triple]; None where each occurred once"""


def _as_array(rows: Any) -> np.ndarray[Any, Any]:
    try:
        sequence = rows if hasattr(rows, "__array__") else list(rows)
    except TypeError as error:
        raise DatasetError(f"triples must be integer ids of shape (n, 3), not {type(rows).__name__}.") from error
    try:
        return np.asarray(sequence)
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        ragged = [row for row, ids in enumerate(sequence) if np.size(ids) != np.size(sequence[0])]
        why = f"row {ragged[0]} is not as long as row 0" if ragged else reason(error)
        raise DatasetError(f"triples must be integer ids of shape (n, 3): {why}.") from error


@dataclass(frozen=True, eq=False)
class TripleIndex:
    """The distinct triples of a set, numbered.

    There are two levels, pairs (head, relation) and triples, because head × relations × tails may exceed int64.

    Examples
    --------
    >>> index = TripleIndex.of(Triples.of([(2, 0, 1), (0, 0, 1), (2, 0, 1)]))
    >>> len(index), index.find(Triples.of([(0, 0, 1), (9, 9, 9), (2, 0, 1)]))
    (2, array([ 0, -1,  1]))
    """

    relations: int
    """a number above all relation ids"""
    tails: int
    """a number above all tail ids"""
    pairs: IntArray
    """each pair as one number, head × relations + relation; int64[pair], ascending and distinct"""
    keys: IntArray
    """each triple as one number, (index in ``pairs``) × tails + tail; int64[triple], ascending and distinct"""

    @classmethod
    def of(cls, triples: Triples) -> TripleIndex:
        """Number the distinct triples of a set."""
        relations = 1 + int(triples.relations.max(initial=0))
        tails = 1 + int(triples.tails.max(initial=0))
        pairs, indices = np.unique(triples.heads * relations + triples.relations, return_inverse=True)
        return cls(relations, tails, pairs, np.unique(indices.ravel() * tails + triples.tails))

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, triples: Triples) -> IntArray:
        """Return the number of each triple, -1 where it is not there; int64[triple]."""
        possible = (triples.relations < self.relations) & (triples.tails < self.tails)
        pairs = find_sorted(self.pairs, triples.heads * self.relations + triples.relations)
        keys = find_sorted(self.keys, pairs * self.tails + triples.tails)
        return np.where(possible & (pairs >= 0) & (keys >= 0), keys, -1)

    def contains(self, triples: Triples) -> BoolArray:
        """Whether each triple is there; bool[triple]."""
        return self.find(triples) >= 0


def find_sorted(values: IntArray, keys: IntArray) -> IntArray:
    """Find the index of each key in ascending values, -1 where it is missing; int64[key]."""
    if not len(values):
        return np.full(len(keys), -1)
    indices = np.minimum(np.searchsorted(values, keys), len(values) - 1)
    return np.where(values[indices] == keys, indices, -1)


@dataclass(frozen=True, eq=False)
class LabelledTriples:
    """Triples, each with a number: a truth value (1 or 0), or the confidence of a fact (0 to 1).

    A triple may occur several times, with equal or different numbers.

    Examples
    --------
    >>> labelled = LabelledTriples(Triples.of([(0, 0, 1), (0, 0, 1), (1, 0, 0)]), np.array([0.2, 0.7, 0.4]))
    >>> labelled.largest(Triples.of([(0, 0, 1), (5, 0, 5)]))
    array([0.7, nan])
    """

    triples: Triples
    labels: Float64Array
    """the number of each triple; float64[triple]"""

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.triples):
            raise DatasetError(f"{len(self.labels)} labels for {len(self.triples)} triples: give one for each.")

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: BoolArray) -> LabelledTriples:
        return LabelledTriples(Triples(self.triples.ids[rows]), self.labels[rows])

    def largest(self, triples: Triples) -> Float64Array:
        """Look up the largest label of each triple, NaN for triples without one; float64[triple]."""
        index, labels = self._by_triple
        rows = index.find(triples)
        return np.where(rows >= 0, np.append(labels, np.nan)[rows], np.nan)

    @cached_property
    def _by_triple(self) -> tuple[TripleIndex, Float64Array]:
        """Number the distinct triples, and find the largest label of each; float64[distinct triple]."""
        index = TripleIndex.of(self.triples)
        labels = np.full(len(index), -np.inf)
        np.maximum.at(labels, index.find(self.triples), self.labels)
        return index, labels


def reverse(triples: Triples) -> Triples:
    """Swap the head and the tail of each triple."""
    return Triples(np.ascontiguousarray(triples.ids[:, ::-1]))
