"""Files of arrays: ``.npz`` is read; ``.npy`` is mapped from disk, and so are large arrays of ``.safetensors``.

Readers of checkpoints call ``read_npz`` and ``read_safetensors`` for files of named arrays, and ``mapped_array`` for a
file of one table; ``array_names`` only looks, to recognise a format.

A mapped file may be replaced by another (as ``save_checkpoint`` does). If it is overwritten in place, the arrays of the
loaded model change.
"""

from __future__ import annotations

import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kgeval.base.arrays import FloatArray, bfloat16_to_float32
from kgeval.base.containers import open_zip
from kgeval.base.errors import CheckpointError
from kgeval.base.files import Budget, checked
from kgeval.models.checkpoints.locate import readable

NUMPY, SAFE = ".npy", ".safetensors"

ARRAYS = {".npz", SAFE}
"""the endings of files of named arrays"""

LARGE = 256 * 2**20
"""the size in bytes from which an array of a ``.safetensors`` is mapped, except for bfloat16, which is widened; smaller
arrays are read, so that the file may change afterwards"""

BFLOAT16 = "BF16"

DTYPES = {"F16": "f2", "F32": "f4", "F64": "f8", BFLOAT16: "u2", "BOOL": "b1"} | {
    f"{sign}{8 * size}": f"{sign.lower()}{size}" for sign in "IU" for size in (1, 2, 4, 8)
}
"""numpy's type of each type that is read; of bfloat16, which numpy lacks, the bits; whole numbers are for labels"""

UNPACKED = 100
"""how many times the size of an archive its unpacked arrays may have together"""


def read_safetensors(file: Path, *, large: int = LARGE) -> SafeTensors:
    """Read the arrays of a file that the safetensors library accepts; arrays from ``large`` bytes on are mapped."""
    from safetensors import safe_open

    checked(file)
    with readable(file, ".safetensors file"), safe_open(file, framework="np") as opened:
        return SafeTensors(_arrays_in(file, large), opened.metadata() or {})


class SafeTensors(NamedTuple):
    """The content of a ``.safetensors`` file: its arrays by name, and its metadata."""

    arrays: dict[str, FloatArray]
    metadata: dict[str, str]


def _arrays_in(file: Path, large: int) -> dict[str, FloatArray]:
    """Take the arrays from the places in the header; bfloat16 is widened to float32, in which every value is exact."""
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        header = json.loads(opened.read(length))
    header.pop("__metadata__", None)
    arrays: dict[str, FloatArray] = {}
    for name, tensor in header.items():
        if tensor["dtype"] not in DTYPES:
            raise CheckpointError(
                f"{file}: the array {name!r} is {tensor['dtype']}; expected F16, F32, F64 or {BFLOAT16}."
            )
        begin, end = tensor["data_offsets"]
        kind, shape = f"<{DTYPES[tensor['dtype']]}", tuple(tensor["shape"])
        array: Any = np.empty(shape, kind)
        if array.size:
            array = np.memmap(file, kind, mode="r", offset=8 + length + begin, shape=shape)
        if tensor["dtype"] == BFLOAT16:
            arrays[name] = bfloat16_to_float32(array)
        else:
            arrays[name] = array if end - begin >= large else np.array(array)
    return arrays


def read_npz(file: Path) -> dict[str, FloatArray]:
    """Read the arrays of an ``.npz``, after checking the sizes that it announces."""
    with readable(file, ".npz file"):
        checked(file)
        with open_zip(file) as archive:
            _refuse_bombs(archive, file)
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}


def _refuse_bombs(archive: zipfile.ZipFile, file: Path) -> None:
    """Refuse two arrays of one name, and arrays that announce another size than they have, before any is allocated."""
    budget = Budget(file, times=UNPACKED)
    if len(set(archive.namelist())) < len(archive.namelist()):
        raise ValueError("two arrays have the same name")
    for info in archive.infolist():
        budget.take(info.file_size)
        with archive.open(info) as member:
            version = np.lib.format.read_magic(member)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = header(member)
            if dtype.hasobject:
                fault = f"{info.filename} is an array of Python objects, which could run code"
                raise CheckpointError(f"{file}: {fault}. Save numbers instead: array.astype(numpy.float32).")
            if dtype.itemsize * int(np.prod(shape, dtype=object)) + member.tell() != info.file_size:
                raise ValueError(f"{info.filename} announces {shape} {dtype}, which is not its size")


def mapped_array(file: Path) -> FloatArray:
    """Return the one table of floating-point numbers of a ``.npy``, mapped, or a ``.safetensors``, mapped if large."""
    array: FloatArray
    if file.suffix == SAFE:
        arrays = read_safetensors(file).arrays
        if len(arrays) != 1:
            raise CheckpointError(f"{file}: expected one tensor, found {', '.join(sorted(arrays)) or 'none'}.")
        array = next(iter(arrays.values()))
    else:
        with readable(file, "array"):
            checked(file)
            array = np.lib.format.open_memmap(file, mode="r")
    if array.ndim != 2 or array.dtype.kind != "f":
        raise CheckpointError(f"{file}: expected a table of floating-point numbers, found {array.dtype} {array.shape}.")
    return array


def array_names(file: Path) -> frozenset[str]:
    """List the arrays of an ``.npz`` or ``.safetensors`` by their names; of a damaged file, none."""
    from safetensors import safe_open

    with suppress(Exception):
        if file.suffix == SAFE:
            with safe_open(file, framework="np") as opened:
                return frozenset(opened.keys())
        with open_zip(file) as archive:
            return frozenset(name.removesuffix(NUMPY) for name in archive.namelist())
    return frozenset()
