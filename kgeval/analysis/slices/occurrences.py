"""Occurrences: how often pairs of ids, entities and queries occur among triples, found by sorting and bisection."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgeval.analysis.slices.slice import EvaluatedRows
from kgeval.arrays import IntArray
from kgeval.data.triples import Triples

Count = Callable[[Triples, Triples], IntArray]
"""(triples, among) -> how often something of each triple is there; int64[triple]"""

Pairs = tuple[IntArray, IntArray]
"""two columns of ids; int64[pair] each"""


def count_pairs(pairs: Pairs, among: Pairs) -> IntArray:
    """Count how often each pair of ids occurs among others; int64[row].

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
    return _count_by_side(rows, train, of_tails=count_heads, of_heads=count_tails)


def count_answers(rows: EvaluatedRows, train: Triples) -> IntArray:
    """Count the train triples that have each row's answer in its place, with its relation; int64[row]."""
    return _count_by_side(rows, train, of_tails=count_tails, of_heads=count_heads)


def _count_by_side(rows: EvaluatedRows, train: Triples, *, of_tails: Count, of_heads: Count) -> IntArray:
    counts = np.empty(len(rows.tails), np.int64)
    for predicted, count in ((rows.tails, of_tails), (~rows.tails, of_heads)):
        counts[predicted] = count(Triples(rows.triples.ids[predicted]), train)
    return counts


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
