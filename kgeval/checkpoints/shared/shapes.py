"""Check that an array of a layer holds floating-point numbers in the expected shape."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.errors import CheckpointError


class Layer(Protocol):
    """Arrays by name: the tensors of a state dictionary, or a module of a pickled model."""

    def take(self, name: str, *shape: int | None, least: float | None = None) -> FloatArray:
        """Return an array as :func:`check_shape` does; refuse where it is missing."""
        ...


def check_shape(name: str, array: Any, *shape: int | None, least: float | None = None) -> FloatArray:
    """Return an array if it has floating-point numbers and the expected shape.

    Parameters
    ----------
    name
        for the message
    array
        an array of any type
    shape
        the length of each axis; ``None`` is any
    least
        the least number; with it, numbers must be finite too: here because scores need not show a wrong one

    Raises
    ------
    CheckpointError
        if it has another dtype, shape or value

    Examples
    --------
    >>> check_shape("bias", np.zeros(31), 32)
    Traceback (most recent call last):
    kgeval.errors.CheckpointError: the tensor 'bias' is float64 [31]; expected floating-point numbers of shape [32].
    """
    lengths = list(np.shape(array))
    fits = len(lengths) == len(shape) and all(
        expected in (None, length) for expected, length in zip(shape, lengths, strict=True)
    )
    if not fits or array.dtype.kind != "f" or array.size == 0:
        expected = ", ".join("any" if length is None else str(length) for length in shape)
        raise CheckpointError(
            f"the tensor {name!r} is {array.dtype} {lengths}; expected floating-point numbers of shape [{expected}]."
        )
    floats: FloatArray = array
    if least is not None and (wrong := ~(np.isfinite(floats) & (floats >= least))).any():
        expected = "finite numbers" if least == -np.inf else f"finite numbers from {least:g}"
        raise CheckpointError(f"the tensor {name!r} holds {floats[wrong].flat[0]}; expected {expected}.")
    return floats
