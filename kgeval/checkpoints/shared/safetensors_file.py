"""What a safetensors file holds: its large arrays stay where they are, and are read as they are used.

Replace such a file by another (as ``save_checkpoint`` does); one that is overwritten in place changes under the model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kgeval.arrays import FloatArray, bfloat16_to_float32
from kgeval.errors import CheckpointError, reason
from kgeval.files.opening import checked

LARGE = 256 * 2**20
"""bytes from which on an array is mapped; what is smaller is read, so that the file may change afterwards"""

DTYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64}

HALF = "BF16"

OTHERS = {"BOOL", *(f"{sign}{bits}" for sign in "IU" for bits in (8, 16, 32, 64))}
"""what is read, and refused where it is no label"""


class SafeTensors(NamedTuple):
    """What a file holds."""

    arrays: dict[str, FloatArray]
    metadata: dict[str, str]


def read_safetensors(file: Path) -> SafeTensors:
    """Read the arrays of a file, and what it says of them.

    Raises
    ------
    CheckpointError
        if it is damaged, or an array is in a format that numpy does not have
    """
    from safetensors import safe_open

    checked(file)
    try:
        with safe_open(file, framework="np") as opened:
            mapped, names = memory_mapped_arrays(file), opened.keys()
            arrays = {name: mapped[name] if name in mapped else opened.get_tensor(name) for name in names}
            return SafeTensors(arrays, opened.metadata() or {})
    except CheckpointError:
        raise
    except Exception as error:  # its header can say anything
        raise CheckpointError(f"{file}: not a readable .safetensors file, or cut short ({reason(error)}).") from error


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
