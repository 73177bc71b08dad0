"""What a pickle may hold: bounds on its instructions and values, and storages of numbers, of which tensors are views.

Only instructions that model files need pass, and values in proportion to the length: a pickle may use a value many
times, so a few bytes can make a tuple that takes exponential time to hash or print.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any

import numpy as np

from kgeval.arrays import bfloat16_to_float32
from kgeval.errors import PickleError
from kgeval.files.opening import Budget

FORBIDDEN = {"NEXT_BUFFER", "READONLY_BUFFER", "EXT1", "EXT2", "EXT4", "INST", "OBJ", "PERSID"}
"""instructions that no model file has, and that could take memory or run code out of proportion to its size"""


MAX_KEY_SIZE = 64
"""the most values in a key of a dictionary, which is hashed while the pickle is read"""


def refuse_instructions(program: bytes, budget: Budget) -> None:
    """Refuse a pickle by its instructions, without executing them."""
    sizes = _Sizes()
    for opcode, argument, _ in pickletools.genops(program):
        budget.step()
        if opcode.name in FORBIDDEN:
            raise PickleError(f"the pickle has the instruction {opcode.name}, which no model needs. It was refused.")
        if "PUT" in opcode.name and int(argument or 0) > len(program):
            raise PickleError("damaged: the pickle numbers its parts beyond its own length.")
        if max(sizes.keys(opcode.name), default=0) > MAX_KEY_SIZE:
            raise PickleError(f"the pickle has a key that is made of more than {MAX_KEY_SIZE} values. It was refused.")
        sizes.follow(opcode, argument)


class _Sizes:
    """How many values each value on a pickle's stack consists of, each counted as often as it is used."""

    def __init__(self) -> None:
        self.stack: list[int] = []
        self.marks: list[int] = []
        self.memo: dict[int, int] = {}

    def keys(self, name: str) -> list[int]:
        """Return the sizes of the values that the next instruction hashes."""
        mark = self.marks[-1] if self.marks else 0
        if name == "SETITEM":
            return self.stack[-2:-1]
        if name in {"SETITEMS", "DICT"}:
            return self.stack[mark::2]
        return self.stack[mark:] if name in {"ADDITEMS", "FROZENSET"} else []

    def follow(self, opcode: pickletools.OpcodeInfo, argument: Any) -> None:
        """Pop the arguments of an instruction from the stack, and push its results."""
        if opcode.name == "MARK":
            self.marks.append(len(self.stack))
        elif opcode.name == "POP" and self.marks[-1:] == [len(self.stack)]:
            self.marks.pop()
        elif "PUT" in opcode.name or opcode.name == "MEMOIZE":
            self.memo[len(self.memo) if argument is None else int(argument)] = self.stack[-1]
        elif "GET" in opcode.name:
            self.stack.append(self.memo.get(int(argument), 1))
        else:
            size = 1 + sum(self._pop(opcode.stack_before)) if opcode.stack_before else 1
            self.stack.extend([min(size, MAX_KEY_SIZE + 1)] * len(opcode.stack_after))

    def _pop(self, before: list[pickletools.StackObject]) -> list[int]:
        count = len(before)
        if pickletools.markobject in before:
            count = before.index(pickletools.markobject) + len(self.stack) - self.marks.pop()
        start = max(0, len(self.stack) - count)
        sizes = self.stack[start:]
        del self.stack[start:]
        return sizes


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
        raise PickleError("a tensor is made from something that is not a storage.")
    data, size, stride = storage.numbers, shape_of(size), shape_of(stride)
    last = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    numbers = int(np.prod(size, dtype=object))
    if offset < 0 or (numbers and last >= data.size) or numbers > data.size:
        raise PickleError(f"a tensor of shape {size} does not fit into its storage of {data.size} numbers.")
    steps = [step * data.itemsize if length > 1 else 0 for length, step in zip(size, stride, strict=True)]
    return np.lib.stride_tricks.as_strided(data[offset:], size, steps, writeable=False)
