"""Known answers of queries: the facts of train, valid and test, which the filter removes from the candidates.

Rankings ask :class:`SortedFacts` and :func:`known_answers`; :func:`known_triples` has the facts of a filter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.base.arrays import IntArray
from kgeval.base.errors import InputError
from kgeval.data import KnownTimes
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries, Rows, starts_of_runs
from kgeval.data.triples import Side, Triples


@dataclass(frozen=True, eq=False)
class KnownAnswers:
    """Facts sorted by query, so that the answers of any query are found by bisection."""

    keys: IntArray
    """int64[fact], the query as one number, ascending; entities × relations × contexts stays far below 2^63"""
    answers: IntArray
    """int64[fact], ascending and distinct within a key"""
    sizes: tuple[int, ...]
    """the number of relations, and of contexts (ids of times); without the latter, facts of any time are known"""

    @classmethod
    def of(cls, triples: Sequence[Triples], side: Side) -> KnownAnswers:
        """Sort the facts of some sets of triples (the filter) once; no sets give no answers, the raw setting."""
        facts = Triples.concatenated(triples)
        anchors, relations, answers = facts.queries_of_side(side)
        columns = [relations] if facts.contexts is None else [relations, facts.contexts]
        sizes = tuple(1 + int(column.max(initial=0)) for column in columns)
        keys, answers = _sorted_pairs(_keys(anchors, columns, sizes), answers)
        first = starts_of_runs(keys, answers)
        return cls(keys[first], answers[first], sizes)

    def rows(self, queries: Queries) -> Rows:
        """Collect the known answers of queries, a row for each query."""
        return Rows.spans(*self.spans(queries), self.answers)

    def lengths(self, queries: Queries) -> IntArray:
        """Count the known answers of queries; int64[query]."""
        starts, stops = self.spans(queries)
        return stops - starts

    def spans(self, queries: Queries) -> tuple[IntArray, IntArray]:
        """Find where the known answers of queries begin and end in ``answers``; int64[query] both."""
        if len(self.sizes) > 1 and queries.contexts is None:
            raise InputError("the dataset is temporal, but these queries have no time. Add it, or use filter=().")
        columns = [queries.relations] if queries.contexts is None else [queries.relations, queries.contexts]
        keys = _keys(queries.anchors, columns, self.sizes)
        for column, size in zip(columns, self.sizes, strict=False):
            keys[column >= size] = -1
        return np.searchsorted(self.keys, keys, "left"), np.searchsorted(self.keys, keys, "right")


def known_answers(queries: Queries, triples: Sequence[Triples]) -> Rows:
    """Collect each query's answers among some sets of triples, sorted and distinct; of any time if it has no time.

    Examples
    --------
    >>> queries = Queries.of(Triples.of([(0, 0, 1)]), "tail")
    >>> known_answers(queries, [Triples.of([(0, 0, 2), (0, 0, 1), (5, 0, 1)]), Triples.of([(0, 0, 2)])]).row(0)
    array([1, 2])
    """
    if queries.contexts is None:
        triples = [part.without_contexts() for part in triples]
    return KnownAnswers.of(triples, queries.side).rows(queries)


def known_triples(dataset: Dataset, splits: Collection[str], times: KnownTimes | None = None) -> list[Triples]:
    """Return the known triples of some splits and files; if ``times`` is static, without times: known at all times."""
    parts = [dataset.split(name) for name in dataset.present(splits)]
    return [triples.without_contexts() for triples in parts] if times == "static" else parts


class SortedFacts:
    """The known answers of some splits, sorted once for each filter and side; a copy in another process sorts again."""

    def __init__(self, splits: Mapping[Any, Triples]) -> None:
        self._splits = splits
        self._sorted: dict[tuple[tuple[str, ...], Side], KnownAnswers] = {}

    def __reduce__(self) -> tuple[type[SortedFacts], tuple[Mapping[Any, Triples]]]:
        return SortedFacts, (self._splits,)

    def of(self, splits: Collection[str], side: Side) -> KnownAnswers:
        """Return the known answers of the splits in a filter; names of other splits are ignored."""
        triples = {name: triples for name, triples in self._splits.items() if name in splits}
        if (tuple(triples), side) not in self._sorted:
            self._sorted[tuple(triples), side] = KnownAnswers.of([*triples.values()], side)
        return self._sorted[tuple(triples), side]

    def forget(self) -> None:
        """Free the memory of all that is sorted."""
        self._sorted.clear()


def _keys(anchors: IntArray, columns: Sequence[IntArray], sizes: Sequence[int]) -> IntArray:
    """Make one number of each query: of its anchor and as many columns as there are sizes; int64[query]."""
    for column, size in zip(columns, sizes, strict=False):
        anchors = anchors * size + column
    return anchors


def _sorted_pairs(keys: IntArray, answers: IntArray) -> tuple[IntArray, IntArray]:
    bits = int(answers.max(initial=0)).bit_length()
    if int(keys.max(initial=0)).bit_length() + bits < 63:
        # One number for both sorts many times faster.
        both = np.sort(keys << bits | answers)
        return both >> bits, both & ((1 << bits) - 1)
    order = np.lexsort((answers, keys))
    return keys[order], answers[order]
