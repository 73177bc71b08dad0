"""Take what a model returned as an array of float64 scores, without rounding, or refuse it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from kgeval.base.arrays import Float64Array, detached
from kgeval.base.errors import ScoreError, reason

EXACT = 2**53
"""float64 holds every whole number up to this one, and beyond it only some"""


def as_array(scores: Any, source: str) -> np.ndarray[Any, Any]:
    """Take scores as an array of numbers, in their own type; tensors lose their gradient and their device.

    >>> as_array([[True, False]], "the model")
    array([[ True, False]])
    >>> as_array("0.5", "the model")
    Traceback (most recent call last):
    kgeval.base.errors.ScoreError: the model gave str of dtype <U3; expected real numbers, as an array or a tensor.
    """
    try:
        array = np.asarray(detached(scores))
    except Exception as error:  # ragged lists, sparse or quantised tensors: every library refuses in its own way
        kind = type(scores).__name__
        raise ScoreError(
            f"{source} gave {kind}, which is not an array of real numbers: {reason(error)}. Give only the scores, as "
            "an array or a tensor."
        ) from error
    if np.ma.is_masked(scores):
        raise ScoreError(f"{source} gave masked scores. Use NaN for a missing score, and nan='worst' (--nan worst).")
    if array.dtype.kind != "f" and not np.can_cast(array.dtype, np.float64):
        raise ScoreError(
            f"{source} gave {type(scores).__name__} of dtype {array.dtype}; expected real numbers, "
            "as an array or a tensor."
        )
    return array


def as_float64(scores: Any, source: str) -> Float64Array:
    """Take scores as float64, each exactly as it was.

    >>> as_float64([2**60, 1], "the model")
    array([1.1529215e+18, 1.0000000e+00])
    >>> as_float64([2**60 + 1, 1], "the model")
    Traceback (most recent call last):
    kgeval.base.errors.ScoreError: the model gave the score 1152921504606846977, which float64 cannot hold exactly. ...
    """
    array = as_array(scores, source)
    with np.errstate(over="ignore", invalid="ignore"):  # a long double that overflows is found below; NaN may signal
        exact = array.astype(np.float64, copy=False)
    if rounded := _rounded(array, exact):
        raise ScoreError(
            f"{source} gave the score {rounded[0]}, which float64 cannot hold exactly. Give floats, or smaller numbers."
        )
    return exact


def _rounded(array: np.ndarray[Any, Any], exact: Float64Array) -> list[Any]:
    """List the scores that are others in float64; only long integers and long doubles can be."""
    if array.dtype.kind in "iu":
        large = (array > EXACT) | (array < -EXACT)
        # Python compares whole numbers with floats exactly, numpy in float64.
        pairs = zip(array[large].tolist(), exact[large].tolist(), strict=True)
        return [score for score, held in pairs if score != held]
    if np.can_cast(array.dtype, np.float64):
        return []
    return list(array[(array != exact) & ~np.isnan(array)])


T = TypeVar("T")


class ShrinkingBatches:
    """Computes in batches; one that does not fit is tried again, half as large, and so are those after it.

    >>> def square(part):
    ...     if part.stop - part.start > 2:
    ...         raise MemoryError
    ...     return [number**2 for number in range(part.start, part.stop)]
    >>> batches = ShrinkingBatches(4)
    >>> list(batches.compute(square, 5)), batches.size
    ([[0, 1], [4, 9], [16]], 2)
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def compute(self, function: Callable[[slice], T], count: int) -> Iterator[T]:
        """Yield what a function returns for slices of so many rows, in order."""
        start = 0
        while start < count:
            size = min(self.size, count - start)
            try:
                result = function(slice(start, start + size))
            except Exception as error:
                if size == 1 or not is_out_of_memory(error):
                    raise
                self.size = size // 2
            else:
                start += size
                yield result


def is_out_of_memory(error: Exception) -> bool:
    torch = sys.modules.get("torch")
    if isinstance(error, MemoryError) or (torch is not None and isinstance(error, torch.cuda.OutOfMemoryError)):
        return True
    # For the memory of a processor or of Apple's devices, torch raises a RuntimeError.
    words = ("out of memory", "can't allocate memory")
    return isinstance(error, RuntimeError) and any(part in str(error) for part in words)
