"""Counts that slices divide rows by: how often train has the ends, the pairs and the entities of a triple."""

from __future__ import annotations

import numpy as np

from kgeval.analysis.slices.slice import EvaluatedRows
from kgeval.base.arrays import IntArray
from kgeval.data.triples import Triples


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
