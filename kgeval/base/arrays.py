"""The types of arrays, and conversions of numbers that numpy does not have.

All rooms annotate arrays with the types. Functions that take arrays of users accept torch tensors by :func:`array_or`.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
"""ids, counts and offsets"""

BoolArray = npt.NDArray[np.bool_]

FloatArray = npt.NDArray[np.floating[Any]]
"""scores and parameters, in the precision in which they were given"""

Float64Array = npt.NDArray[np.float64]
"""computed numbers, such as metrics"""


def bfloat16_to_float32(halves: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """Convert the bits of bfloat16 numbers, a type that numpy lacks, to float32, which holds each of them exactly.

    >>> bfloat16_to_float32(np.array([0x3F80, 0xC049], np.uint16))
    array([ 1.      , -3.140625], dtype=float32)
    """
    return (halves.astype(np.uint32) << 16).view(np.float32)


def is_tensor(values: Any) -> bool:
    """Whether values are a torch tensor; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def detached(values: Any) -> Any:
    """Return a tensor on the CPU, without gradient and in a type that numpy has; return other values unchanged."""
    if not is_tensor(values):
        return values
    plain = values.detach().cpu()
    # numpy has no bfloat16; float32 holds each value of the narrower types exactly.
    return plain.float() if plain.is_floating_point() and plain.element_size() < 4 else plain


def array_or(refusal: Callable[[Exception], Exception], values: Any) -> npt.NDArray[Any]:
    """Convert values, or a tensor, to an array; if NumPy cannot, raise what ``refusal`` makes of its error."""
    try:
        return np.asarray(detached(values))
    except Exception as error:  # ragged lists, sparse or quantised tensors: every library refuses in its own way
        raise refusal(error) from error
