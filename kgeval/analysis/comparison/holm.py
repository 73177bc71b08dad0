"""Holm's adjustment: p-values of a family of tests, such that one wrong rejection among all is as rare as the level."""

from __future__ import annotations

import numpy as np

from kgeval.arrays import Float64Array


def holm(p_values: Float64Array) -> Float64Array:
    """Multiply the smallest of m p-values by m, the next by m − 1, …, none below the one before (Holm, 1979).

    >>> holm(np.array([0.01, 0.04, 0.03, 0.005])).round(6)
    array([0.03, 0.06, 0.06, 0.02])
    """
    order = np.argsort(p_values, kind="stable")
    remaining = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(remaining * p_values[order]), 1)
    return adjusted
