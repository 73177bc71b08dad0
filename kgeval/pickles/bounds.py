"""Bounds on pickles: only instructions that model files need, and values in proportion to the length.

A pickle may use a value many times, so a few bytes can make a tuple that takes exponential time to hash or print.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterable
from typing import Any

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
                what = f"the pickle makes more than {most} values of a few, by repeating them"
                raise PickleError(f"{what}. It was refused.")
        elif id(whole) not in sizes:
            sizes[id(whole)] = 1
            stack.append((whole, True))
            stack.extend((part, False) for part in parts(whole))
