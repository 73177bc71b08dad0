"""The reciprocal place of a list's first answer: what retrieval calls the reciprocal rank."""

from __future__ import annotations

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.metrics.lists.ranked_lists import PerList, RankedLists, list_metric
from kgeval.metrics.numerics.sums import sum_of_reciprocals

_EPSILON = 2.0**-53
_STEPS = 64
"""of the recurrence, at most"""
_CELLS = 1 << 22
"""the table of probabilities that is in hand at a time: 32 MiB"""


def first_reciprocals(lists: RankedLists, k: int | None = None) -> Float64Array:  # noqa: ARG001
    """1 / the place of the first relevant item of each list, NaN where nothing is relevant; float64[list].

    >>> from kgeval.metrics.lists.ranked_lists import list_metric, ranked
    >>> first_reciprocals(ranked([0, 1, 1], scores=[5, 5, 5]))  # first in 2 of 3 orders, else second
    array([0.83333333])
    """
    values = np.full(len(lists.lengths), np.nan)
    rows = np.flatnonzero(lists.relevant)
    tops = lists.offsets[:-1][rows]
    values[rows] = _expected_reciprocals(lists.num_above[tops], lists.tie_block_size[tops], lists.blocks[1][tops])
    return values


def _expected_reciprocals(before: IntArray, level: IntArray, relevant: IntArray) -> Float64Array:
    """E[1 / (t + X)], X the place of the first of r relevant among n items in random order, behind t others."""
    values = sum_of_reciprocals(before + 1, before + level) / level
    several = np.flatnonzero(relevant > 1)
    cases, codes = np.unique(np.stack([before, level, relevant])[:, several], axis=1, return_inverse=True)
    found, sure = _by_recurrence(*cases)
    found[~sure] = _by_sums(cases[:, ~sure])
    values[several] = found[codes.ravel()]
    return values


def _by_recurrence(before: IntArray, level: IntArray, relevant: IntArray) -> tuple[Float64Array, BoolArray]:
    """Compute the expectation from that of one relevant item fewer, and tell where rounding stays below 10⁻¹³ of it.

    C(n − x, r − 1) = C(n − x, r − 2) (n − x − r + 2) / (r − 1) makes E_r = ((n + t − r + 2) E_(r−1) − 1) · r / ((r − 1)
    (n − r + 1)), from E_1 = (H(t + n) − H(t)) / n.
    """
    t, n = before.astype(np.float64), level.astype(np.float64)
    values = sum_of_reciprocals(before + 1, before + level) / n
    errors = 4 * _EPSILON * values
    for r in range(2, min(int(relevant.max(initial=1)), _STEPS) + 1):
        left = relevant >= r
        factor = r / ((r - 1) * np.maximum(n - r + 1, 1))
        scaled = (n + t - r + 2) * values
        errors = np.where(left, factor * ((n + t - r + 2) * errors + 2 * _EPSILON * scaled), errors)
        values = np.where(left, factor * (scaled - 1), values)
    return values, (relevant <= _STEPS) & (errors <= 1e-13 * values)


def _by_sums(cases: IntArray) -> Float64Array:
    """Sum over the places of the first relevant item; for cases (before, level, relevant), int64[3, case]."""
    before, level, relevant = cases
    # P(X > x) < e^(−x r / n): beyond 50 n / r nothing that float64 holds is left.
    spans = np.minimum(level - relevant + 1, np.ceil(50 * level / relevant).astype(np.int64))
    # Widest last, so that cases which are summed together are about as wide as each other.
    order = np.argsort(spans, kind="stable")
    sums = np.empty(len(order))
    start = 0
    while start < len(order):
        widths = spans[order[start:]]
        fits = max(1, int(np.searchsorted(widths * np.arange(1, len(widths) + 1), _CELLS, "right")))
        part = order[start : start + fits]
        sums[part] = _summed(before[part], level[part], relevant[part], width=int(widths[fits - 1]))
        start += fits
    return sums


def _summed(before: IntArray, level: IntArray, relevant: IntArray, *, width: int) -> Float64Array:
    """Sum P(X = x) / (t + x) over x = 1 … width, with P(X = x + 1) / P(X = x) = (n − x − r + 1) / (n − x)."""
    t, n, r = before[:, None], level[:, None], relevant[:, None]
    x = np.arange(1, width + 1)
    chances = np.empty((len(before), width))
    chances[:, :1] = r / n
    np.divide(np.maximum(n - x[:-1] - r + 1, 0), np.maximum(n - x[:-1], 1), out=chances[:, 1:])
    return np.asarray((np.cumprod(chances, axis=1) / (t + x)).sum(axis=1), np.float64)


FIRST = list_metric(
    name="first-rr",
    title="mean reciprocal place of the first answer",
    formula="Σ (1 / place of the first answer) / #queries",
    source="Voorhees, 1999",
    compute=PerList(first_reciprocals),
    synonyms=("first_reciprocal_rank", "recip_rank"),
)
