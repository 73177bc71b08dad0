"""Memory maps: the large arrays of a safetensors file stay where they are, and are read as they are used.

Replace such a file by another (as ``save_checkpoint`` does); one that is overwritten in place changes under the model.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from kgeval.arrays import FloatArray

LARGE = 256 * 2**20
"""bytes from which on an array is mapped; what is smaller is read, so that the file may change afterwards"""

DTYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64}


def map_large(file: Path) -> dict[str, FloatArray]:
    """Map the large arrays of a file that the safetensors library has accepted."""
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        header = json.loads(opened.read(length))
    mapped: dict[str, FloatArray] = {}
    for name, tensor in header.items():
        begin, end = tensor.get("data_offsets", (0, 0))
        if end - begin >= LARGE and tensor["dtype"] in DTYPES:
            dtype, shape = DTYPES[tensor["dtype"]], tuple(tensor["shape"])
            mapped[name] = np.memmap(file, dtype, mode="r", offset=8 + length + begin, shape=shape)
    return mapped
