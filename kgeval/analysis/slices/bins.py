"""Bins: counts divided at limits, which the names of the bins tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgeval.analysis.slices.slice import Categories
from kgeval.arrays import IntArray

QUANTILES = (0.25, 0.5, 0.75, 1)
"""where counts above 0 are divided: into quarters of the split"""


def quantile_bins(counts: IntArray, of_split: IntArray) -> Categories:
    """Divide counts at the quartiles of the counts above 0 of the whole split; 0 is a bin of its own.

    Where many counts are equal, fewer than four bins are left.

    >>> quantile_bins(np.array([0, 1, 7]), np.array([0, 1, 1, 2, 3, 5, 8, 9, 9]))
    Categories(codes=array([0, 1, 3]), names=('0', '1', '2–3', '4–8', '9'))
    """
    positive = of_split[of_split > 0]
    if not len(positive):
        return limited_bins(counts, [0])
    limits = np.unique(np.quantile(positive, QUANTILES, method="inverted_cdf")).astype(int).tolist()
    return limited_bins(counts, [0, *limits], least=int(positive.min()))


def limited_bins(counts: IntArray, limits: Sequence[int], *, least: int = 1) -> Categories:
    """Divide counts at limits, each of which is the last of its bin; the first limit is 0, and no count is beyond all.

    >>> limited_bins(np.array([0, 4, 10]), [0, 1, 10]).names
    ('0', '1', '2–10')
    """
    firsts = [0, least, *(limit + 1 for limit in limits[1:])]
    names = [str(last) if first == last else f"{first}–{last}" for first, last in zip(firsts, limits, strict=False)]
    return Categories(np.searchsorted(limits, counts), tuple(names))
