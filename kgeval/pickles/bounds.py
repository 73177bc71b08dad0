"""Bounds on pickles: only instructions that model files need, and values in proportion to the length.

A pickle may use a value many times, so a few bytes can make a tuple that takes exponential time to hash or print.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kgeval.errors import PickleError
from kgeval.files.opening import Budget

FORBIDDEN = {"NEXT_BUFFER", "READONLY_BUFFER", "EXT1", "EXT2", "EXT4", "INST", "OBJ", "PERSID"}
"""instructions that no model file has, and that could take memory or run code out of proportion to its size"""

MAX_KEY_SIZE = 64
"""the most values in a key of a dictionary, which is hashed while the pickle is read"""

MAX_TUPLE_KEYS = 512
"""the most keys that are tuples or sets, whose hashes can be made to collide"""

COMPOSITES = {"TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "FROZENSET"}
"""instructions that make tuples and sets"""

CALLS = {"REDUCE", "NEWOBJ", "NEWOBJ_EX"}
"""calls, whose results are no tuples or sets: the unpickler refuses those"""

LARGE = 2**64
"""the least large number, whose hashes can be made to collide"""

TOO_LARGE = 2**256
"""the least number that is refused: it takes long to hash"""

MAX_LARGE_NUMBERS = 16
"""the most large numbers: PyTorch's magic number, the state of a random generator"""


def refuse_instructions(program: bytes, budget: Budget) -> None:
    """Refuse a pickle by its instructions, without executing them."""
    sizes, large_numbers, tuples = _Sizes(), 0, 0
    for opcode, argument, _ in pickletools.genops(program):
        budget.step()
        size = abs(argument) if isinstance(argument, int) else 0
        large_numbers += size >= LARGE
        if large_numbers > MAX_LARGE_NUMBERS or size >= TOO_LARGE:
            what = f"the pickle has a number beyond 256 bits, or more than {MAX_LARGE_NUMBERS} beyond 64"
            raise PickleError(f"{what}. It was refused.")
        if opcode.name in FORBIDDEN:
            raise PickleError(f"the pickle has the instruction {opcode.name}, which no model needs. It was refused.")
        if "PUT" in opcode.name and int(argument or 0) > len(program):
            raise PickleError("damaged: the pickle numbers its parts beyond its own length.")
        keys = sizes.keys(opcode.name)
        tuples += sum(key.composite for key in keys)
        if tuples > MAX_TUPLE_KEYS:
            what = f"the pickle has more than {MAX_TUPLE_KEYS} keys that are tuples or sets"
            raise PickleError(f"{what}. It was refused.")
        if any(key.size > MAX_KEY_SIZE for key in keys):
            raise PickleError(f"the pickle has a key that is made of more than {MAX_KEY_SIZE} values. It was refused.")
        sizes.follow(opcode, argument)


class _Value(NamedTuple):
    """The size of a value that an instruction would make."""

    size: int = 1
    """the number of its values, each counted as often as it is used"""
    composite: bool = False
    """whether it may be a tuple or a set, whose hash depends on those of its items"""


class _Sizes:
    """The sizes of the values on a pickle's stack."""

    def __init__(self) -> None:
        self.stack: list[_Value] = []
        self.marks: list[int] = []
        self.memo: dict[int, _Value] = {}

    def keys(self, name: str) -> list[_Value]:
        """Return the values that the next instruction hashes."""
        mark = self.marks[-1] if self.marks else 0
        if name == "SETITEM":
            return self.stack[-2:-1]
        if name in {"SETITEMS", "DICT"}:
            return self.stack[mark::2]
        return self.stack[mark:] if name in {"ADDITEMS", "FROZENSET"} else []

    def follow(self, opcode: pickletools.OpcodeInfo, argument: Any) -> None:
        """Pop the arguments of an instruction from the stack, and push the sizes of its results."""
        if opcode.name == "MARK":
            self.marks.append(len(self.stack))
        elif opcode.name == "POP" and self.marks[-1:] == [len(self.stack)]:
            self.marks.pop()
        elif "PUT" in opcode.name or opcode.name == "MEMOIZE":
            self.memo[len(self.memo) if argument is None else int(argument)] = self.stack[-1]
        elif "GET" in opcode.name:
            self.stack.append(self.memo.get(int(argument), _Value()))
        elif not opcode.stack_before:
            self.stack.extend([_Value()] * len(opcode.stack_after))
        else:
            arguments = self._pop(opcode.stack_before)
            size = min(1 + sum(value.size for value in arguments), MAX_KEY_SIZE + 1)
            inherited = opcode.name not in CALLS and any(value.composite for value in arguments)
            result = _Value(size, composite=inherited or opcode.name in COMPOSITES)
            self.stack.extend([result] * len(opcode.stack_after))

    def _pop(self, before: list[pickletools.StackObject]) -> list[_Value]:
        count = len(before)
        if pickletools.markobject in before:
            count = before.index(pickletools.markobject) + len(self.stack) - self.marks.pop()
        start = max(0, len(self.stack) - count)
        values = self.stack[start:]
        del self.stack[start:]
        return values


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
                what = f"the pickle makes more than {most} values of a few, by repeating them"
                raise PickleError(f"{what}. It was refused.")
        elif id(whole) not in sizes:
            sizes[id(whole)] = 1
            stack.append((whole, True))
            stack.extend((part, False) for part in parts(whole))
