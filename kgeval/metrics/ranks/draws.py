"""Draws for random ties: a number from [0, 1) for each row, which depends on a seed and on what the row is.

So a triple has the same draw in every table, whatever the order of the rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import Float64Array, IntArray


def uniform(seed: int, *keys: IntArray) -> Float64Array:
    """Draw from [0, 1) for each row of keys, by the SplitMix64 generator (Steele, Lea and Flood, 2014); float64[row].

    >>> first, second = np.array([3, 4]), np.array([0, 0])
    >>> bool((uniform(7, first, second)[::-1] == uniform(7, first[::-1], second)).all())
    True
    """
    state = np.zeros(len(keys[0]), np.uint64) + np.uint64(seed % 2**64)
    for key in keys:
        state = _mix(_mix(state) + key.astype(np.uint64))
    return np.asarray((_mix(state) >> np.uint64(11)) * 2.0**-53, np.float64)


def _mix(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
