"""Groups of rows: a number for each different value of a column, and the mean of each group."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from kgeval.arrays import Float64Array, IntArray


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


@runtime_checkable
class OfGroups(Protocol):
    """What computes a metric also for many groups at once."""

    def of_groups(self, data: Any, starts: IntArray, k: int) -> npt.NDArray[Any]:
        """Compute it for each of the groups that begin at some rows, or lists; [group].

        It is not finite where the metric is undefined.
        """
        ...


def means_of_groups(values: Float64Array, starts: IntArray, weights: Float64Array | None = None) -> Float64Array:
    """Compute the weighted mean of each group; float64[group], NaN where nothing in it has a weight.

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
