"""Auxiliary values: functions of the rank among typed candidates, on which the full rank is regressed."""

from __future__ import annotations

import numpy as np

from kgeval.arrays import Float64Array, IntArray

CUTOFFS = (1, 3, 10)
"""k of the values [r ≤ k]"""


def auxiliary_values(units: IntArray, greater: IntArray, tied: IntArray) -> Float64Array:
    """Compute 1/r, [r ≤ k] and log r of realistic ranks, as means over each triple's sides; float64[triple, value].

    Parameters
    ----------
    units
        the triple of each row, from 0; int64[row]
    greater, tied
        the counts of each row; int64[row]

    >>> auxiliary_values(np.array([0, 0]), np.array([0, 3]), np.array([0, 0])).round(3)
    array([[0.625, 0.5  , 0.5  , 1.   , 0.693]])
    """
    ranks = 1 + greater + tied / 2
    values = [1 / ranks, *((ranks <= k).astype(np.float64) for k in CUTOFFS), np.log(ranks)]
    return np.stack([np.bincount(units, value) for value in values], axis=1) / np.bincount(units)[:, None]
