"""Tables in ``.npy`` files, mapped from disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.errors import CheckpointError, FileError, reason
from kgeval.files.opening import checked


def mapped_array(file: Path) -> FloatArray:
    """Map an array from disk; only its header is read.

    Raises
    ------
    CheckpointError
        if it is damaged, or no table of floating-point numbers
    """
    try:
        checked(file)
        array: FloatArray = np.lib.format.open_memmap(file, mode="r")
    except FileError:
        raise
    except Exception as error:  # numpy has many ways of refusing a damaged file
        raise CheckpointError(f"{file}: not a readable array, or cut short ({reason(error)}).") from error
    if array.ndim != 2 or array.dtype.kind != "f":
        raise CheckpointError(f"{file}: expected a table of floating-point numbers, found {array.dtype} {array.shape}.")
    return array
