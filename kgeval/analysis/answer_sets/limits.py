"""Conformal limits: how nonconforming an answer may be and still be in its set, from the answers of validation.

``answers.py`` calls ``calibrate``: the nonconformities of the validation answers (how badly each fits its query, see
``nonconformity.py``) go in, the limit of each test row comes out: one for all rows, or one for each relation or side.

Split conformal prediction (Vovk et al., 2005; Angelopoulos and Bates, 2023): of n exchangeable values V and a new one,
P(V_new ≤ q) ≥ c where q is the ⌈(n + 1) c⌉-th smallest of the n, and infinite where that is more than n. The + 1 counts
the new value. A triple that is predicted on both sides is one draw with two values, so there it adds 2 (pooling of
groups; Lee, Barber and Willett, 2023). Calibrated by relation (Mondrian; Vovk et al., 2005), each relation has its own
q.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.notes import Note
from kgeval.metrics.rank_summary import group_rows
from kgeval.ranking.rank_table import SCHEMA, RankTable

COLUMNS = ("relation", "side")
"""the columns by which answers may be calibrated: both are known before the answer"""


def calibrate(
    valid: RankTable, values: Float64Array, test: RankTable, *, coverage: float, per: Sequence[str] = ()
) -> CalibratedLimits:
    """Find the limit of each test row from the nonconformities ``values`` (float64[row]) of the validation answers.

    Groups that have too few values for a finite limit are pooled, and calibrated together.
    """
    values_per_draw = 1 if "side" in per else len(np.unique(valid.column("side").astype(str)))
    keys, (of_valid, of_test) = _group_numbers(valid, test, tuple(per))
    limits_of_groups = partial(conformal_limits, coverage=coverage, values_per_draw=values_per_draw)
    few = np.isinf(limits_of_groups(values, of_valid, len(keys))) & (len(keys) > 1)
    numbers = np.where(few, len(keys), np.arange(len(keys)))  # the pooled groups are one, the last
    of_valid, of_test = numbers[of_valid], numbers[of_test]
    limits = limits_of_groups(values, of_valid, len(keys) + 1)
    sizes = (np.bincount(of_rows, minlength=len(keys) + 1).tolist() for of_rows in (of_valid, of_test))
    pooled = [*[0] * len(keys), int(few.sum())]
    groups = [Limit(*of_group) for of_group in zip([*keys, {}], limits.tolist(), *sizes, pooled, strict=True)]
    return CalibratedLimits(limits[of_test], tuple(groups[number] for number in np.unique(numbers).tolist()))


@dataclass(frozen=True, eq=False)
class CalibratedLimits:
    """The limit of each test row, and of each group."""

    of_rows: Float64Array
    """the limit of each test row; float64[row]"""
    of_groups: tuple[Limit, ...]


@dataclass(frozen=True)
class Limit:
    """The limit of some rows."""

    key: dict[str, Any]
    """the values that the rows have in common, by column; empty for all rows, and for pooled groups"""
    limit: float
    """the largest nonconformity that is let in; infinite where there are too few values"""
    valid: int
    """the number of validation values from which the limit was computed"""
    test: int
    """the number of test rows that have this limit"""
    pooled: int = 0
    """the number of groups that share this limit because each has too few values of its own"""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; a limit that is infinite is None."""
        return {**asdict(self), "limit": self.limit if math.isfinite(self.limit) else None}


def _group_numbers(
    valid: RankTable, test: RankTable, per: tuple[str, ...]
) -> tuple[list[dict[str, Any]], tuple[IntArray, IntArray]]:
    """Group the rows of both tables by columns; return the keys of the groups, and each table's groups, int64[row]."""
    both = pa.concat_tables([table.data.select(SCHEMA.names) for table in (valid, test)])
    grouping, numbers = group_rows(replace(test, data=both), per), np.empty(len(both), np.int64)
    numbers[grouping.rows] = grouping.group_ids
    return grouping.keys, (numbers[: len(valid)], numbers[len(valid) :])


def conformal_limits(
    values: Float64Array, groups: IntArray, count: int, *, coverage: float, values_per_draw: int = 1
) -> Float64Array:
    """Compute the limit of each group, infinite where it has too few values; float64[group].

    ``values`` (float64[value]) are the nonconformities of validation, ``groups`` (int64[value]) their groups from 0, of
    which there are ``count``; ``coverage`` is the probability with which the next answer is within the limit.

    For 90 %, the limit of nine values is the ninth; of eight values, none is large enough.

    >>> conformal_limits(np.arange(17.0), np.r_[np.zeros(9, int), np.ones(8, int)], 2, coverage=0.9)
    array([ 8., inf])
    """
    order = np.lexsort((values, groups))
    sizes = np.bincount(groups, minlength=count)
    # A Python loop over groups, of whole numbers that are exact.
    places = np.array([place_of_limit(n, coverage, values_per_draw=values_per_draw) for n in sizes.tolist()], np.int64)
    ends = np.cumsum(sizes)
    chosen = np.minimum(ends - sizes + places, ends) - 1
    padded = np.append(values[order], np.inf)  # looked up by a last group without values, though never taken
    return np.where(places <= sizes, padded[chosen], np.inf)


def place_of_limit(count: int, coverage: float, *, values_per_draw: int = 1) -> int:
    """Compute which of ``count`` ascending values is the limit, from 1; above ``count``, none is large enough.

    The coverage is taken as it is written in decimals: 0.55 of 20 are 11, not the 12 that the binary number gives.

    >>> place_of_limit(9, 0.9), place_of_limit(8, 0.9), place_of_limit(19, 0.55)
    (9, 9, 11)
    """
    return math.ceil(Fraction(str(float(coverage))) * (count + values_per_draw))


def notes_on_limits(limits: CalibratedLimits, per: tuple[str, ...], coverage: float) -> Iterator[str]:
    """Say which groups were calibrated together, and whose sets contain all candidates."""
    for group in limits.of_groups:
        if group.pooled:
            few = f"{group.pooled} of {group.pooled + len(limits.of_groups) - 1} groups by {' and '.join(per)}"
            few += f" have too few validation triples for a coverage of {coverage:g}"
            ranks = f"{group.valid} validation ranks, {group.test} test ranks"
            yield Note("intervals", f"{few}. They were calibrated together: {ranks}.")
        if group.limit == float("inf"):
            sets = f"the answer sets of {group.test} test ranks contain all candidates"
            few = f"Either {group.valid} validation ranks are too few for a coverage of {coverage:g}"
            worst = "or the answers of too many of them have an infinite nonconformity"
            yield Note("intervals", f"{sets}. {few}, {worst}.")


def notes_on_filter(test: RankTable) -> Iterator[str]:
    """Warn if the filter treats validation and test differently: then coverage is not guaranteed."""
    if test.filter is not None and ("valid" in test.filter) != ("test" in test.filter):
        removes = "so it removes different answers from validation and test queries"
        unsure = f"coverage is not guaranteed: the filter has {', '.join(test.filter)}, {removes}"
        yield Note("candidates", f"{unsure}. Filter by valid and test, or by neither.")
