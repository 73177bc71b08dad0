"""An index of triples: which of them a set has, found by bisection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.arrays import BoolArray, IntArray
from kgeval.data.triples import Triples


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
    """how many relation ids there may be"""
    tails: int
    """how many tail ids there may be"""
    pairs: IntArray
    """int64[pair], head × relations + relation, ascending and distinct"""
    keys: IntArray
    """int64[triple], index of the pair in ``pairs`` × tails + tail, ascending and distinct"""

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
        if not len(self):
            return np.full(len(triples), -1)
        possible = (triples.relations < self.relations) & (triples.tails < self.tails)
        pairs = _index_of(self.pairs, triples.heads * self.relations + triples.relations)
        keys = _index_of(self.keys, pairs * self.tails + triples.tails)
        return np.where(possible & (pairs >= 0) & (keys >= 0), keys, -1)

    def contains(self, triples: Triples) -> BoolArray:
        """Whether each triple is there; bool[triple]."""
        return self.find(triples) >= 0


def _index_of(values: IntArray, keys: IntArray) -> IntArray:
    """The index of each key in ascending values, -1 where it is missing; int64[key]."""
    indices = np.minimum(np.searchsorted(values, keys), len(values) - 1)
    return np.where(values[indices] == keys, indices, -1)
