"""Storages: arrays of numbers outside of a pickle, of which its tensors are views."""

from __future__ import annotations

from dataclasses import dataclass
from reprlib import repr as short
from typing import Any

import numpy as np

from kgeval.arrays import bfloat16_to_float32
from kgeval.errors import PickleError

HALF = "BFloat16Storage"

DTYPES = {
    "DoubleStorage": np.float64,
    "FloatStorage": np.float32,
    "HalfStorage": np.float16,
    HALF: np.uint16,
    "LongStorage": np.int64,
    "IntStorage": np.int32,
    "ShortStorage": np.int16,
    "CharStorage": np.int8,
    "ByteStorage": np.uint8,
    "BoolStorage": np.bool_,
    "ComplexFloatStorage": np.complex64,
    "ComplexDoubleStorage": np.complex128,
}


class Immutable:
    """An object that a pickle cannot change: BUILD, which sets the state of an object, is refused."""

    def __setstate__(self, state: Any) -> None:
        raise PickleError("the pickle tries to change an object that it did not make. It was refused.")


@dataclass(frozen=True)
class StorageType(Immutable):
    """The type of the numbers of a tensor."""

    name: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of numpy; for bfloat16, which numpy lacks, that of its bits."""
        return np.dtype(DTYPES[self.name])

    def decode(self, content: bytes) -> np.ndarray[Any, Any]:
        numbers: np.ndarray[Any, Any] = np.frombuffer(content, self.dtype)
        return bfloat16_to_float32(numbers) if self.name == HALF else numbers


@dataclass(frozen=True)
class Storage(Immutable):
    """The numbers that tensors are views of."""

    numbers: np.ndarray[Any, Any]
    """numbers in one dimension"""


@dataclass(frozen=True)
class Reference:
    """A reference of a pickle to a storage outside of it."""

    storage_type: StorageType
    key: str
    count: int

    @classmethod
    def of(cls, pid: Any) -> Reference:
        """Parse a persistent id."""
        if not isinstance(pid, tuple):
            raise PickleError(f"the pickle refers to data by a {type(pid).__name__}.")
        kind, storage_type, key, _, count, *view = pid
        if kind != "storage" or not isinstance(storage_type, StorageType) or any(part is not None for part in view):
            raise PickleError(f"the pickle refers to an unknown kind of data ({short(kind)}).")
        if not isinstance(key, str | int) or not isinstance(count, int):
            raise PickleError(f"the pickle refers to {short(count)} numbers under the key {short(key)}.")
        return cls(storage_type, str(key), count)


def shape_of(lengths: Any) -> tuple[int, ...]:
    if not isinstance(lengths, tuple) or not all(isinstance(length, int) and length >= 0 for length in lengths):
        raise PickleError(f"the pickle holds an array of the shape {short(lengths)}.")
    return lengths


def tensor(storage: Storage, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> Any:
    """Make a strided view of a storage; one that exceeds the storage is refused."""
    if not isinstance(storage, Storage):
        raise PickleError("a tensor is made of something that is no storage.")
    data, size, stride = storage.numbers, shape_of(size), shape_of(stride)
    last = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    numbers = int(np.prod(size, dtype=object))
    if offset < 0 or (numbers and last >= data.size) or numbers > data.size:
        raise PickleError(f"a tensor of shape {size} does not fit into its storage of {data.size} numbers.")
    steps = [step * data.itemsize if length > 1 else 0 for length, step in zip(size, stride, strict=True)]
    return np.lib.stride_tricks.as_strided(data[offset:], size, steps, writeable=False)
