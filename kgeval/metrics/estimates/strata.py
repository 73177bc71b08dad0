"""Strata: triples by relation, and an order of them in which every beginning is a proportional sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, Philox

from kgeval.arrays import IntArray

FEWEST_PER_STRATUM = 3
"""triples that a stratum has in the first sample, so that its variance can be estimated there and ever after"""


@dataclass(frozen=True, eq=False)
class Strata:
    """A division of triples: large relations by themselves, small ones together with others of about their size.

    Strata of several relations are collapsed strata (Cochran, 1977, section 5A.12): their triples vary more than those
    of one relation, so intervals are a little too wide rather than too narrow.
    """

    ids: IntArray
    """int64[triple], from 0"""
    sizes: IntArray
    """int64[stratum]"""

    @classmethod
    def of(cls, relations: IntArray, first: int) -> Strata:
        """Divide triples by their relations (int64[triple]), for samples of at least ``first`` triples.

        >>> Strata.of(np.array([7, 7, 7, 7, 7, 2, 2, 3, 3, 3]), first=10).ids
        array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
        """
        distinct, codes, counts = np.unique(relations, return_inverse=True, return_counts=True)
        fewest = FEWEST_PER_STRATUM * len(relations) / first
        numbers, number, filled = np.empty(len(distinct), np.int64), 0, 0
        for relation in np.argsort(-counts, kind="stable"):
            if filled >= fewest:
                number, filled = number + 1, 0
            numbers[relation] = number
            filled += counts[relation]
        if filled < fewest:  # the last of them, which are too few by themselves
            numbers = np.minimum(numbers, max(number - 1, 0))
        ids = numbers[codes]
        return cls(ids, np.bincount(ids))

    def order(self, seed: int) -> IntArray:
        """Put the triples in a random order; int64[triple].

        The first n of them, whatever n is, are a simple random sample of each stratum, whose size is in proportion to
        the stratum's and depends on n alone. The j-th triple of a stratum of N stands at (j − ½)/N of the way.

        >>> strata = Strata(np.array([0, 0, 0, 0, 1, 1]), np.array([4, 2]))
        >>> strata.ids[strata.order(seed=0)]
        array([0, 1, 0, 0, 1, 0])
        """
        draws = Generator(Philox(key=np.array([seed, 0], np.uint64))).random(len(self.ids))
        shuffled = np.lexsort((draws, self.ids))
        strata = self.ids[shuffled]
        starts = np.cumsum(self.sizes) - self.sizes
        places = (np.arange(len(strata)) - starts[strata] + 0.5) / self.sizes[strata]
        return np.asarray(shuffled[np.lexsort((strata, places))], np.int64)
