"""Deviation: how far predicted values lie from the true ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgeval.errors import MetricError
from kgeval.metrics.lists import array


def rmse(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Compute the root mean square error, √(Σ (y − ŷ)² / n).

    Parameters
    ----------
    y_true, y_pred
        the true and the predicted values; shape (value,) each

    Raises
    ------
    MetricError
        if there are no values, or not as many of one as of the other

    Examples
    --------
    >>> rmse([1, 2, 3], [1, 2, 5])
    1.1547005383792515
    """
    true, predicted = array(y_true, "y_true"), array(y_pred, "y_pred")
    if len(true) != len(predicted):
        raise MetricError(f"{len(true)} true but {len(predicted)} predicted values: one for each.")
    return float(np.sqrt(np.mean((true - predicted) ** 2)))
