"""What a pickle may hold: bounds on its instructions and values, and storages of numbers, of which tensors are views.

Only instructions that model files need pass, and values in proportion to the length: a pickle may use a value many
times, so a few bytes can make a tuple that takes exponential time to hash or print.
"""

from __future__ import annotations

import pickle
import pickletools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any

import numpy as np

from kgeval.base.arrays import bfloat16_to_float32
from kgeval.base.errors import PickleError
from kgeval.base.files.opening import Budget

FORBIDDEN = {"NEXT_BUFFER", "READONLY_BUFFER", "EXT1", "EXT2", "EXT4", "INST", "OBJ", "PERSID"}
"""instructions that no model file has, and that could take memory or run code out of proportion to its size"""


MAX_KEY_SIZE = 64
"""the most values in a key of a dictionary, which is hashed while the pickle is read"""


def refuse_instructions(program: bytes, budget: Budget) -> None:
    """Refuse a pickle by its instructions, without executing them."""
    for opcode, _, _ in pickletools.genops(program):
        budget.step()
        if opcode.name in FORBIDDEN:
            raise PickleError(f"the pickle has the instruction {opcode.name}, which no model needs. It was refused.")


def _with_keys(code: bytes, first: int | None, step: int) -> Callable[[Any], None]:
    """Load an instruction after a look at the keys on the stack, before their hashes are computed."""
    load: Callable[[Any], None] = pickle._Unpickler.dispatch[code[0]]

    def checked(unpickler: Any) -> None:
        for key in unpickler.stack[first::step]:
            if isinstance(key, tuple):
                check_object_graph_size(key, MAX_KEY_SIZE, lambda part: part if isinstance(part, tuple) else ())
        load(unpickler)

    return checked


class BoundedUnpickler(pickle._Unpickler):
    """The unpickler in Python, which lets each key of a dictionary or set be looked at."""

    dispatch = {  # noqa: RUF012  # as it is called there
        **pickle._Unpickler.dispatch,
        pickle.SETITEM[0]: _with_keys(pickle.SETITEM, -2, 2),
        **{code[0]: _with_keys(code, None, 2) for code in (pickle.SETITEMS, pickle.DICT)},
        **{code[0]: _with_keys(code, None, 1) for code in (pickle.ADDITEMS, pickle.FROZENSET)},
    }


def check_object_graph_size(value: Any, most: int, parts: Callable[[Any], Iterable[Any]]) -> None:
    """Refuse a value that consists of more than ``most`` values, each counted as often as it is used.

    ``parts`` returns the values that a value directly consists of; a cycle is followed once.
    """
    sizes: dict[int, int] = {}
    stack = [(value, False)]
    while stack:  # depth first, parts before wholes
        whole, after_parts = stack.pop()
        if after_parts:
            sizes[id(whole)] = 1 + sum(sizes.get(id(part), 1) for part in parts(whole))
            if sizes[id(whole)] > most:
                what = f"the pickle repeats a few values to more than {most}"
                raise PickleError(f"{what}. It was refused.")
        elif id(whole) not in sizes:
            sizes[id(whole)] = 1
            stack.append((whole, True))
            stack.extend((part, False) for part in parts(whole))


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
        match pid:
            case ("storage", StorageType() as kind, str() | int() as key, _, int() as count, *view):
                if all(part is None for part in view):
                    return cls(kind, str(key), count)
        raise PickleError(f"the pickle refers to an unknown kind of data ({short(pid)}).")


def shape_of(lengths: Any) -> tuple[int, ...]:
    if not isinstance(lengths, tuple) or not all(isinstance(length, int) and length >= 0 for length in lengths):
        raise PickleError(f"the pickle holds an array of the shape {short(lengths)}.")
    return lengths


def tensor(storage: Storage, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> Any:
    """Make a strided view of a storage; one that exceeds the storage is refused."""
    if not isinstance(storage, Storage):
        raise PickleError("a tensor is made from something that is not a storage.")
    data, size, stride = storage.numbers, shape_of(size), shape_of(stride)
    last = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    numbers = int(np.prod(size, dtype=object))
    if offset < 0 or (numbers and last >= data.size) or numbers > data.size:
        raise PickleError(f"a tensor of shape {size} does not fit into its storage of {data.size} numbers.")
    steps = [step * data.itemsize if length > 1 else 0 for length, step in zip(size, stride, strict=True)]
    return np.lib.stride_tricks.as_strided(data[offset:], size, steps, writeable=False)
