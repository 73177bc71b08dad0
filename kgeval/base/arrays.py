"""The types of arrays, and conversions of numbers that numpy does not have."""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
"""ids, counts and offsets"""

BoolArray = npt.NDArray[np.bool_]

FloatArray = npt.NDArray[np.floating[Any]]
"""scores and parameters in whatever precision they come"""

Float64Array = npt.NDArray[np.float64]
"""what is computed"""


def bfloat16_to_float32(halves: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """Take the bits of bfloat16 numbers, which numpy does not have, as float32, which holds each of them exactly.

    >>> bfloat16_to_float32(np.array([0x3F80, 0xC049], np.uint16))
    array([ 1.      , -3.140625], dtype=float32)
    """
    return (halves.astype(np.uint32) << 16).view(np.float32)


def detached(values: Any) -> Any:
    """Take a tensor off its device and its gradient, and widen what numpy does not have; all else stays as it is."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(values, torch.Tensor):
        return values
    plain = values.detach().cpu()
    # numpy has no bfloat16; float32 holds each value of the narrower types exactly.
    return plain.float() if plain.is_floating_point() and plain.element_size() < 4 else plain
