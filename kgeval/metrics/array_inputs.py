"""Checks of array arguments: rows of numbers, grades or scores, and cut-offs, as NumPy arrays or with a clear error.

The public functions that take plain arrays, such as ``ndcg`` and ``rmse``, and ``ScoredLabels`` call them.
"""

from __future__ import annotations

from numbers import Number
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import BoolArray, Float64Array, array_or
from kgeval.base.errors import MetricError, reason
from kgeval.metrics.metric import checked_cutoff

Row: TypeAlias = npt.ArrayLike
"""one row of numbers: a list, an array or a tensor"""

MAX_GRADE = 1e300
"""the largest grade of relevance, whose sums stay finite"""


def as_number_row(values: npt.ArrayLike, name: str, *, infinite: bool = False) -> Float64Array:
    """Read one non-empty row of numbers; float64[item]."""
    row = floats(values, name)
    if not len(row):
        raise MetricError(f"{name}: expected one row of at least one number, found shape {row.shape}.")
    refuse_items(name, row, np.isnan(row) if infinite else ~np.isfinite(row), "expected a number")
    return row


def refuse_items(name: str, row: Float64Array, wrong: BoolArray, rule: str) -> None:
    """Refuse a row that has wrong items (bool[item]); the error names the first of them and the rule that it breaks."""
    if wrong.any():
        first = int(np.argmax(wrong))
        raise MetricError(f"{name}[{first}] is {row[first]:g}: {rule}.")


def floats(values: npt.ArrayLike, name: str) -> Float64Array:
    """Read one row of real numbers, be they finite or not; float64[item]."""
    original = _row(values, name)
    with np.errstate(over="ignore"):  # a long double may overflow: it becomes infinite, and is found below
        objects = original.dtype == object
        row = np.array([_float(one) for one in original]) if objects else original.astype(np.float64, copy=False)
    infinite = np.flatnonzero(np.isinf(row))
    overflown = infinite[original[infinite] != row[infinite]]
    if len(overflown):
        raise MetricError(f"{name}[{overflown[0]}] is beyond float64.")
    return row


def order_preserving_float64(scores: npt.ArrayLike, name: str) -> Float64Array:
    """Read scores of which only the order matters; float64[item].

    Scores that float64 might round are replaced by their positions in ascending order.
    """
    row, original = as_number_row(scores, name, infinite=True), _row(scores, name)
    exact = original.dtype.kind in "bf" and original.dtype.itemsize <= row.dtype.itemsize
    return row if exact else np.unique(original, return_inverse=True)[1].astype(np.float64)


def relevances(values: npt.ArrayLike, name: str) -> Float64Array:
    """Read grades of relevance, from 0 to 1e300; float64[item]."""
    grades = as_number_row(values, name)
    refuse_items(name, grades, grades < 0, "grades of relevance are 0 or more")
    rule = f"grades of relevance, which are added, go up to {MAX_GRADE:g}"
    refuse_items(name, grades, grades > MAX_GRADE, rule)
    return grades


def optional_cutoff(k: int | None) -> int | None:
    """Check a cut-off, or ``None`` for the whole list; see :func:`checked_cutoff`."""
    return None if k is None else checked_cutoff(k)


def _row(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    row = array_or(lambda it: MetricError(f"{name}: expected numbers ({reason(it)})."), values)
    if np.ma.is_masked(values):
        raise MetricError(f"{name}: expected numbers, found masked values. Leave them out.")
    if row.ndim != 1:
        raise MetricError(f"{name}: expected one row of numbers, found shape {row.shape}.")
    if row.dtype == object:
        others = {type(one).__name__ for one in row if not isinstance(one, Number) or isinstance(one, complex)}
        if others:
            raise MetricError(f"{name}: expected numbers, found {min(others)}.")
    elif row.dtype.kind not in "biuf" and len(row):
        found = "text" if row.dtype.kind in "US" else row.dtype.name
        raise MetricError(f"{name}: expected numbers, found {found}.")
    return row


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")
    except ValueError:  # a NaN that signals
        return float("nan")
