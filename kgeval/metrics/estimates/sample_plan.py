"""The plan of a sample: its strata, whether a typed phase pays, and how many triples come next.

A regression leaves a = 1 − R² of the variance. With n′ = k n triples in the first phase, of cost c each where an exact
rank costs 1, the variance at a given cost is least for k = √(R² / (a c)) (Cochran, 1977, section 12.6).

To look at the error after every block, and to stop at the first that seems small enough, would favour samples whose
variance is underestimated (Chow and Robbins, 1965). Two things keep that bias small: the least sample is large, and the
next one is a tenth larger than the variance so far asks for (Cox, 1952), so that two or three looks are enough.
"""

from __future__ import annotations

import math
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
        """Divide triples by their relations (int64[triple]), for samples of at least ``first`` triples."""
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
        """
        draws = Generator(Philox(key=np.array([seed, 0], np.uint64))).random(len(self.ids))
        shuffled = np.lexsort((draws, self.ids))
        strata = self.ids[shuffled]
        starts = np.cumsum(self.sizes) - self.sizes
        places = (np.arange(len(strata)) - starts[strata] + 0.5) / self.sizes[strata]
        return np.asarray(shuffled[np.lexsort((strata, places))], np.int64)


@dataclass(frozen=True)
class Phases:
    """What the first part of a sample says of a regression."""

    explained: float
    """R²"""
    cost: float
    """of a rank among typed candidates, where one among all entities costs 1"""

    @property
    def ratio(self) -> float:
        """k, how many triples are in the first phase for each of the sample."""
        left = max(1 - self.explained, 1e-6)
        return float(np.sqrt(max(self.explained, 0) / left / self.cost))

    def pays(self, variance: float, *, of: int, first: int) -> bool:
        """Whether it takes less work to reach a variance, in units of that of one triple, of ``of`` triples."""
        if self.ratio <= 1:
            return False
        alone = max(1 / (variance + 1 / of), first)
        left = 1 - self.explained
        drawn = max((left + self.explained / self.ratio) / (variance + 1 / of), first)
        if self.ratio * drawn >= of:
            drawn = max(left / (variance + left / of), first)  # all triples are in the first phase
        return bool(drawn + self.cost * min(self.ratio * drawn, of) < alone)


MARGIN = 1.1
"""how much larger the next sample is than the variance so far asks for, and than the one before"""

MOST_GROWTH = 4
"""how many times as large as the sample before the next one may be: its variance is an estimate itself"""


def next_size(drawn: int, half_width: float, error: float, of: int) -> int:
    """Choose the next sample of a split of ``of`` triples, after one with an interval that is too wide.

    A half width falls as √(1/n − 1/N).
    """
    squared = (error / half_width) ** 2 * (1 / drawn - 1 / of)
    needed = MARGIN / (squared + 1 / of)
    return min(of, math.ceil(min(max(needed, MARGIN * drawn), MOST_GROWTH * drawn)))
