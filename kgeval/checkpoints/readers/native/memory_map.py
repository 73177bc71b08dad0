"""What a safetensors file holds: its large arrays stay where they are, and are read as they are used.

Replace such a file by another (as ``save_checkpoint`` does); one that is overwritten in place changes under the model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray, bfloat16_to_float32
from kgeval.errors import CheckpointError

LARGE = 256 * 2**20
"""bytes from which on an array is mapped; what is smaller is read, so that the file may change afterwards"""

DTYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64}

HALF = "BF16"

OTHERS = {"BOOL", *(f"{sign}{bits}" for sign in "IU" for bits in (8, 16, 32, 64))}
"""what is read, and refused where it is no label"""


def memory_mapped_arrays(file: Path) -> dict[str, FloatArray]:
    """Take the arrays of a file that the safetensors library has accepted, and that it does not read as we do.

    The large ones are mapped. Those in bfloat16 are widened to float32, in which every value is exact.

    Raises
    ------
    CheckpointError
        if an array is in a format that numpy does not have
    """
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        header = json.loads(opened.read(length))
    found: dict[str, FloatArray] = {}
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        begin, end = tensor["data_offsets"]
        if tensor["dtype"] == HALF:
            found[name] = bfloat16_to_float32(_mapped(file, np.uint16, 8 + length + begin, tensor["shape"]))
        elif end - begin >= LARGE and tensor["dtype"] in DTYPES:
            found[name] = _mapped(file, DTYPES[tensor["dtype"]], 8 + length + begin, tensor["shape"])
        elif tensor["dtype"] not in DTYPES.keys() | OTHERS:
            what = f"the array {name!r} is {tensor['dtype']}"
            raise CheckpointError(f"{file}: {what}; expected {', '.join(DTYPES)} or {HALF}.")
    return found


def _mapped(file: Path, dtype: Any, offset: int, shape: list[int]) -> Any:
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.memmap(file, dtype, mode="r", offset=offset, shape=tuple(shape))
