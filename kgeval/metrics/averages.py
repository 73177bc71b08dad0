"""Averages: over answers (micro), queries (macro), relations, times, or weighed against popularity (strat).

``WEIGHINGS`` declares the averages. ``Ranks`` and ``RankedLists`` call ``means_of_groups``: values and weights of rows
go in, the mean of each group comes out. ``selection.py`` calls ``evenly`` for weights that make groups count the same.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.metrics.intervals.interval import Unit

Average = Literal["micro", "macro", "relation", "time", "strat"]


class Weighing(NamedTuple):
    """A way to average, as ``kgeval list metrics`` prints it."""

    name: Average
    title: str
    formula: str
    """the formula, for values v of answers or lists"""
    source: str
    lists: bool = True
    """whether it can also average the values of lists; a list has all answers of one query"""
    over: Unit | None = None
    """the unit that counts once, however many answers it has; ``None`` if answers are averaged"""


WEIGHINGS: dict[str, Weighing] = {
    weighing.name: weighing
    for weighing in (
        Weighing(
            "micro",
            "the mean over all ranks or answers; the default for ranks",
            "Σ v / #answers; of lists Σ m v / Σ m, m their answers",
            "Bordes et al., 2013",
        ),
        Weighing(
            "macro",
            "the mean over queries of the mean of each query; the default for lists",
            "Σ_q (Σ v / #answers of q) / #queries",
            "Buckley and Voorhees, 2000",
            over="query",
        ),
        Weighing(
            "relation",
            "the mean over relations of the mean of each relation",
            "Σ_r (Σ v / #values of r) / #relations",
            "—",
            over="relation",
        ),
        Weighing(
            "time",
            "the mean over times (snapshots) of the mean of each time",
            "Σ_t (Σ v / #values of t) / #times",
            "Gastinger et al., 2023 (MRR over snapshots)",
            over="time",
        ),
        Weighing(
            "strat",
            "the mean over ranks, where popular answers and relations have less weight",
            "Σ w v / Σ w, w = 1 / (freq(e)^βe · freq(r)^βr)",
            "Mohamed et al., 2020",
            lists=False,
        ),
    )
}

AVERAGES: tuple[Average, ...] = tuple(weighing.name for weighing in WEIGHINGS.values())


def means_of_groups(values: Float64Array, starts: IntArray, weights: Float64Array | None = None) -> Float64Array:
    """Compute the weighted mean of each group; float64[group], NaN where nothing in the group has a weight.

    ``values`` and ``weights`` are float64[row]; ``starts`` are the first rows of the groups, int64[group].

    >>> means_of_groups(np.array([1.0, 2.0, 6.0]), np.array([0, 2]))
    array([1.5, 6. ])
    """
    sizes = np.diff(np.r_[starts, len(values)])
    if weights is None:
        return np.asarray(np.add.reduceat(values, starts) / sizes, np.float64)
    # Normalise first: a large weight times a large value may overflow.
    totals = np.repeat(np.add.reduceat(weights, starts), sizes)
    normalized = np.divide(weights, totals, out=np.full(len(values), np.nan), where=totals > 0)
    return np.asarray(np.add.reduceat(normalized * values, starts), np.float64)


def evenly(groups: IntArray) -> Float64Array:
    """Weigh rows so that each group counts the same; float64[row]. The mean is then the mean of the groups' means."""
    _, group_ids = numbered(groups)
    return np.asarray(1 / np.bincount(group_ids)[group_ids], np.float64)


def numbered(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different values, ascending (int64[value]), and the position of each row's among them (int64[row]).

    >>> numbered(np.array([7, 2, 7]))
    (array([2, 7]), array([1, 0, 1]))
    """
    # Counting is many times faster than sorting.
    if len(values) and int(values.min()) >= 0 and int(values.max()) < 4 * len(values):
        present = np.bincount(values) > 0
        return np.flatnonzero(present), (np.cumsum(present) - 1)[values]
    distinct, rows = np.unique(values, return_inverse=True)
    return distinct, rows
