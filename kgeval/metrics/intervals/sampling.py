"""The sampling of a split: which triples are drawn, in which order and how many, and what a rank table records of it.

A stratum is one large relation, or several small ones, that is sampled by itself. *Typed ranks* are ranks among the
candidates of the right type alone, which are cheap: if they are known of more triples than the sample has, a regression
on them corrects the estimate. ``ranking/protocols/sampled_ranking.py`` draws by this file and stores a
:class:`Sampling` with the ranks; ``stratified_sample.py`` computes the metrics from it.

Whether a regression pays: it leaves the share a = 1 − R² of the variance. Let n be the size of the sample and n′ = k n
the number of triples whose typed ranks are known; a typed rank costs c, a rank among all candidates costs 1. At a given
cost, the variance is least for k = √(R² / (a c)) (Cochran, 1977, section 12.6).

To look at the error after every block of triples, and to stop at the first error that seems small enough, would favour
samples whose variance is underestimated (Chow and Robbins, 1965). Two things keep that bias small: the first sample is
large, and the next one is a tenth larger than the variance so far asks for (Cox, 1952), so that two or three looks are
enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator, Philox

from kgeval.base.arrays import IntArray
from kgeval.metrics.intervals.estimate import Estimate

STRATUM = "stratum"
"""the column of a rank table with the stratum of each row's triple"""

TYPED = ("typed_greater", "typed_tied")
"""the columns with the counts of each row among the candidates of the right type"""

FEWEST_PER_STRATUM = 3
"""the least number of triples of a stratum in the first sample, so that each sample can estimate its variance"""

MARGIN = 1.1
"""the next sample is this multiple of the size that the variance so far asks for, and at least of the last size"""

MOST_GROWTH = 4
"""the next sample is at most this multiple of the last one, whose variance is itself an estimate"""


@dataclass(frozen=True)
class Sampling:
    """How the triples of a table were sampled, and what is known about the other triples.

    >>> print(Sampling(Estimate(error=0.01), counts=(600, 400), sizes=(12_000, 8_000)))
    estimated from 1,000 of 20,000 triples (95 %), stratified by relation
    """

    settings: Estimate
    counts: tuple[int, ...]
    """the number of sampled triples in each stratum"""
    sizes: tuple[int, ...]
    """the number of all triples in each stratum"""
    typed_counts: tuple[int, ...] = ()
    """the number of triples in each stratum whose rank among typed candidates is known; empty without a regression"""
    typed_means: tuple[tuple[float, ...], ...] = ()
    """the means of the auxiliary values (functions of the typed rank) over those triples; [stratum][value]"""

    @property
    def method(self) -> str:
        if not self.typed_counts:
            return "stratified by relation"
        known = sum(self.typed_counts)
        return f"stratified by relation, regression on the rank among typed candidates ({known:,} triples)"

    @property
    def num_triples(self) -> int:
        return sum(self.sizes)

    @property
    def num_ranked(self) -> int:
        return sum(self.counts)

    def without_regression(self) -> Sampling:
        """The same sampling for a part of the rows, without the regression, which needs all rows."""
        return replace(self, typed_counts=(), typed_means=())

    def describe(self) -> dict[str, Any]:
        settings = self.settings.model_dump(mode="json", include={"level", "error", "metric", "seed"})
        return {"n": self.num_ranked, "of": self.num_triples, "method": self.method, **settings}

    def __str__(self) -> str:
        triples = f"{self.num_ranked:,} of {self.num_triples:,} triples"
        return f"estimated from {triples} ({100 * self.settings.level:g} %), {self.method}"


@dataclass(frozen=True, eq=False)
class Strata:
    """A division of triples: large relations by themselves, small relations together with others of about their size.

    Strata of several relations are collapsed strata (Cochran, 1977, section 5A.12): their triples vary more than those
    of one relation, so intervals are a little too wide rather than too narrow.
    """

    ids: IntArray
    """int64[triple], the stratum of each triple, from 0"""
    sizes: IntArray
    """int64[stratum], the number of triples"""

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
        if filled < fewest:  # the last stratum has too few triples: it joins the one before
            numbers = np.minimum(numbers, max(number - 1, 0))
        ids = numbers[codes]
        return cls(ids, np.bincount(ids))

    def order(self, seed: int) -> IntArray:
        """Put the triples in a random order; int64[triple].

        For any n, the first n triples contain a simple random sample of each stratum; its size is in proportion to the
        stratum's and depends on n alone. The j-th triple of a stratum of N triples stands at (j − ½)/N of the way.
        """
        draws = Generator(Philox(key=np.array([seed, 0], np.uint64))).random(len(self.ids))
        shuffled = np.lexsort((draws, self.ids))
        strata = self.ids[shuffled]
        starts = np.cumsum(self.sizes) - self.sizes
        places = (np.arange(len(strata)) - starts[strata] + 0.5) / self.sizes[strata]
        return np.asarray(shuffled[np.lexsort((strata, places))], np.int64)


def next_size(drawn: int, half_width: float, error: float, of: int) -> int:
    """Choose the size of the next sample, after a sample of ``drawn`` triples whose interval is too wide.

    ``error`` is the half width that is wanted, and ``of`` the number N of triples of the split. With n triples, the
    half width falls as √(1/n − 1/N).
    """
    squared = (error / half_width) ** 2 * (1 / drawn - 1 / of)
    needed = MARGIN / (squared + 1 / of)
    return min(of, math.ceil(min(max(needed, MARGIN * drawn), MOST_GROWTH * drawn)))


@dataclass(frozen=True)
class Phases:
    """The gain of a regression, estimated from the first part of a sample."""

    explained: float
    """R² of the regression"""
    cost: float
    """the cost of a rank among typed candidates, where a rank among all entities costs 1"""

    @property
    def ratio(self) -> float:
        """k: the triples in the first phase, whose typed ranks are known, for each triple of the sample."""
        left = max(1 - self.explained, 1e-6)
        return float(np.sqrt(max(self.explained, 0) / left / self.cost))

    def pays(self, variance: float, *, of: int, first: int) -> bool:
        """Whether the regression takes less work to reach a variance of the mean.

        ``variance`` is in units of the variance of one triple; ``of`` is the number of triples of the split, ``first``
        the size of the smallest sample.
        """
        if self.ratio <= 1:
            return False
        alone = max(1 / (variance + 1 / of), first)
        left = 1 - self.explained
        drawn = max((left + self.explained / self.ratio) / (variance + 1 / of), first)
        if self.ratio * drawn >= of:
            drawn = max(left / (variance + left / of), first)  # all triples are in the first phase
        return bool(drawn + self.cost * min(self.ratio * drawn, of) < alone)
