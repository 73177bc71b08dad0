"""The root mean square error of predicted values, without overflow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgeval.errors import MetricError
from kgeval.metrics.metric import Undefined
from kgeval.metrics.numerics.array_inputs import as_number_row


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
    Undefined
        if the error is larger than any number in float64

    Examples
    --------
    >>> rmse([1, 2, 3], [1, 2, 5])
    1.1547005383792515
    """
    true, predicted = as_number_row(y_true, "y_true"), as_number_row(y_pred, "y_pred")
    if len(true) != len(predicted):
        raise MetricError(f"{len(true)} true but {len(predicted)} predicted values: one for each.")
    # The difference of halves is finite; scaling it by a power of two keeps its square finite, without rounding.
    halves = np.ldexp(true, -1) - np.ldexp(predicted, -1)
    exponent = np.frexp(np.abs(halves).max())[1]
    with np.errstate(over="ignore"):
        error = float(np.ldexp(np.sqrt(np.mean(np.ldexp(halves, -exponent) ** 2)), exponent + 1))
    if np.isinf(error):
        raise Undefined("the error is larger than any number in float64")
    return error
