"""Random halves: the interval of a mean of which a few units have most of the weight, from the means of half of them.

``selection_intervals.py`` takes this interval where one unit has much of the weight;
``analysis/comparison/pair_tests.py`` takes it for all differences over relations or times. A unit is a triple, query,
relation or time, resampled as one block. Why the interval holds:

Assume that the mean of a unit is as likely above the true mean as below it. Then changing the signs of random units
tests any value t of the mean, whatever the weights and the scatter of the units: a draw of signs is as extreme as the
data where t is between the mean of the units with one sign and the mean of the other units. The interval has all t that
this test does not reject (typical values; Hartigan, 1969). So the interval of a difference contains 0 exactly where the
sign-flip test does not reject.

``scripts/simulate units`` counts how often the interval contains the true difference by relation, beside Student's
interval and the interval whose error is corrected by leverage (CR2; Bell and McCaffrey, 2002), which is more often too
narrow or too wide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator, Philox

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.metrics.intervals.interval import Intervals

HALVES = "random halves"
"""the method of an interval from random halves of the units"""

MOST = 1 / 15
"""the share of one unit in Σ weight² up to which a mean has the interval of Student; of n equal units it is 1/n"""

ROUNDING = 1e-9
"""by how much rounding may put the place of an end below a whole number"""

BLOCK = 2**20
"""about how many signs are drawn at once"""

STREAM = 1
"""the number of the random stream for signs, which is not the bootstrap's"""


def drawn_signed_sums(of_units: Float64Array, draws: int, seed: int) -> Float64Array:
    """Sum the units of each column (float64[unit, column]) under random signs; float64[draw, column]."""
    generator = Generator(Philox(key=np.array([seed, 0], np.uint64), counter=[0, 0, 0, STREAM]))
    sums, rows = np.empty((draws, of_units.shape[1])), max(BLOCK // len(of_units), 1)
    for start in range(0, draws, rows):
        block = sums[start : start + rows]
        signs = 2.0 * generator.integers(0, 2, (len(block), len(of_units)), dtype=np.bool_) - 1
        for place, column in enumerate(of_units.T):  # not by @, whose rounding may depend on the number of threads
            block[:, place] = np.einsum("du,u->d", signs, np.ascontiguousarray(column))
    return sums


@dataclass(frozen=True, eq=False)
class RandomHalves:
    """The units of groups, of which random halves are drawn; of a whole table, there is one group."""

    deviations: Float64Array
    """what each unit adds to the difference of its group's mean from the true one; float64[unit]"""
    shares: Float64Array
    """the share of each unit in the weights of its group; float64[unit]"""
    groups: IntArray
    """int64[unit], the group of each unit"""
    signed_sums: Callable[[Float64Array, int, int], Float64Array] = drawn_signed_sums
    """(values of units, draws, seed) -> their sums under random signs"""
    most: float = MOST
    """the share of one unit in Σ share² from which random halves are needed; 0 if they always are"""

    @cached_property
    def needed(self) -> BoolArray:
        """Whether one unit has much of Σ share²; bool[group]."""
        squares = np.bincount(self.groups, self.shares**2)
        largest = np.zeros_like(squares)
        np.maximum.at(largest, self.groups, self.shares**2)
        return np.asarray(largest > self.most * squares, np.bool_)

    def ends(self, group: int, intervals: Intervals) -> tuple[float, float]:
        """Compute how far both ends of a group's interval are from its mean.

        An example of thirty units, one of which has half of the weight. Student's interval would be the mean ± 0.17.

        >>> shares = np.r_[0.5, np.full(29, 0.5 / 29)]
        >>> deviations = shares * (np.r_[0.2, np.linspace(0, 1, 29)] - 0.35)
        >>> halves = RandomHalves(deviations, shares, np.zeros(30, int))
        >>> halves.needed, np.round(halves.ends(0, Intervals(unit="relation")), 2)
        (array([ True]), array([-0.09,  0.24]))
        """
        own = self.groups == group
        of_units = np.stack([self.deviations[own], self.shares[own]], axis=1)
        deviations, shares = self.signed_sums(of_units, intervals.draws, intervals.seed).T
        with np.errstate(divide="ignore", invalid="ignore"):  # where all units have the same sign
            means = np.sort([deviations / (shares + 1), deviations / (shares - 1)], axis=0)
        place = max(int((1 - intervals.level) * (1 + intervals.draws) + ROUNDING), 1) - 1
        return float(np.partition(means[0], place)[place]), -float(np.partition(-means[1], place)[place])
