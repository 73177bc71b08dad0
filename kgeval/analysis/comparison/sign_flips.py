"""Sign flips: how often chance alone makes a difference as large, were two models exchangeable within each unit.

``pair_tests.py`` calls ``sign_flip_p_values`` for metrics that are functions of means, ``swapped_p_value`` for others;
differences or ranks go in, p-values come out.

If two models are exchangeable, swapping them in a unit only turns the sign of its difference. The p-value counts the
draws of signs whose sum is at least as far from 0 as the one that was found (Fisher, 1935; Smucker, Allan and
Carterette, 2007). If a metric is no function of means, the ranks of both are swapped, and the metric is computed anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator, Philox

from kgeval.base.arrays import BoolArray, Float64Array
from kgeval.base.errors import MetricError
from kgeval.base.progress import long_loop
from kgeval.base.threads import parallel_for
from kgeval.metrics.intervals.interval import NoInterval
from kgeval.metrics.intervals.mean_terms import Units
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName
from kgeval.metrics.ranks.ranks import Ranks

MOST_DRAWS = 10**6

BLOCK = 2048
"""the number of draws that one thread sums together: small enough for its cache, a multiple of 8"""

MOST_FLIPS = 999
"""the most draws of ``swapped_p_value``, which computes the metric twice in each"""

FLIPS = 1
"""the stream of random numbers of the flips, apart from that of the bootstrap"""

ROUNDING = 1e-12
"""how far apart differences may be that count as equal, as a share of the largest difference"""


def sign_flip_p_values(contributions: Float64Array, *, draws: int = 9999, seed: int = 0) -> Float64Array:
    """Test that the sums of columns are 0: (1 + #{|T*| ≥ |T|}) / (1 + draws), two-sided; float64[column].

    ``contributions`` are the differences in each unit; float64[unit, column], a column for each metric. All columns
    have the same signs in a draw, a function of the seed, the draw and the number of the unit: no column's p-value
    depends on the other columns.

    Twelve units that all have the same sign: two of the 4,096 ways to choose signs, 0.0005, give a sum as large.

    >>> sign_flip_p_values(np.ones((12, 1)))
    array([0.0004])
    """
    check_draws(draws)
    sums = signed_sums(contributions, draws=draws, seed=seed)
    observed = contributions.sum(axis=0)
    # Equal sums must count as equal in spite of rounding, which grows with the number of terms.
    rounding = (len(contributions) + 64) * np.finfo(np.float64).eps * np.abs(contributions).sum(axis=0)
    as_far = (np.abs(sums) >= np.abs(observed) - rounding).sum(axis=0)
    return np.asarray((1 + as_far) / (1 + draws), np.float64)


def signed_sums(contributions: Float64Array, draws: int, seed: int) -> Float64Array:
    """Sum the units of each column under random signs; float64[draw, column]."""
    from kgeval.analysis.comparison.flip_kernel import UNITS, add_signed_sums

    units, columns = contributions.shape
    groups = np.zeros((-(-units // UNITS), UNITS, columns))
    groups.reshape(-1, columns)[:units] = contributions
    sums = np.zeros((-(-draws // 8) * 8, columns))
    with long_loop("sign flips", len(sums), unit="draws") as report:
        # Each draw is summed by one thread, group after group: the number of threads changes no digit.
        def add(block: slice) -> None:
            add_signed_sums(groups, np.uint64(seed % 2**64), block.start, sums[block])
            report(len(sums[block]))

        parallel_for(add, len(sums), BLOCK)
    return sums[:draws]


def swapped_p_value(name: MetricName, own: Ranks, others: Ranks, units: Units, *, draws: int, seed: int) -> float:
    """Compute (1 + #{|T*| ≥ |T|}) / (1 + draws), with T* the difference after swapping the models in random units."""
    both = _stacked(own, others)
    observed = _difference(name, both, np.zeros(units.count, np.bool_), units)
    differences = np.empty(draws)
    with long_loop(f"sign flips of {name}", draws, unit="draws") as report:
        for draw in range(draws):
            generator = Generator(Philox(key=np.array([seed % 2**64, draw], np.uint64), counter=[0, 0, 0, FLIPS]))
            swapped = generator.integers(0, 2, units.count).astype(np.bool_)
            try:
                differences[draw] = _difference(name, both, swapped, units)
            except Undefined as reason:
                raise NoInterval(f"it is undefined after a sign flip: {reason}") from reason
            report(1)
    least = abs(observed) - ROUNDING * float(np.abs(differences).max())
    return float((1 + (np.abs(differences) >= least).sum()) / (1 + draws))


def _stacked(first: Ranks, second: Ranks) -> Ranks:
    """Put the rows of the second model behind the rows of the first."""
    both: dict[str, Any] = {name: np.concatenate([of, second.columns[name]]) for name, of in first.columns.items()}
    return replace(first, **both)


def _difference(name: MetricName, both: Ranks, swapped: BoolArray, units: Units) -> float:
    """Compute the difference of two models, which are swapped in some units (bool[unit]); ``both`` has their rows."""
    rows = np.arange(len(units.ids))
    behind = len(rows) * swapped[units.ids]
    return float(name(both.at(rows + behind)) - name(both.at(rows + (len(rows) - behind))))


def check_draws(draws: int) -> None:
    whole = isinstance(draws, int | np.integer) and not isinstance(draws, bool)
    if not whole or not 1 <= draws <= MOST_DRAWS:
        raise MetricError(f"draws: expected a whole number from 1 to {MOST_DRAWS:,}, usually 9999; found {draws!r}.")
