"""Numbering: the different values of a column in ascending order, and which of them each row has."""

from __future__ import annotations

import numpy as np

from kgeval.arrays import IntArray


def numbered(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different values (int64[value]) and the number of each row's (int64[row]).

    >>> numbered(np.array([7, 2, 7]))
    (array([2, 7]), array([1, 0, 1]))
    """
    # Counting is many times faster than sorting.
    if len(values) and int(values.min()) >= 0 and int(values.max()) < 4 * len(values):
        present = np.bincount(values) > 0
        return np.flatnonzero(present), (np.cumsum(present) - 1)[values]
    distinct, rows = np.unique(values, return_inverse=True)
    return distinct, rows
