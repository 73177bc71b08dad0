"""Bounds on pickles: only instructions that files of models need, and values in proportion to the length.

A value may be used many times, so that a few bytes can spell a tuple that takes a lifetime to hash, compare or print.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterable
from typing import Any

from kgeval.errors import PickleError
from kgeval.files.budget import Budget

FORBIDDEN = {"NEXT_BUFFER", "READONLY_BUFFER", "EXT1", "EXT2", "EXT4", "INST", "OBJ", "PERSID"}
"""instructions that no such file has, and that could ask for memory or code out of proportion to it"""

KEY = 64
"""how many values a key of a dictionary may be made of: it is hashed while the pickle is read"""

LONG = 2**64
"""from here on a number is a large one: those can be chosen so that a dictionary takes forever to find its keys"""

LONGEST = 2**256
"""and from here on it is none that a model has: to hash it takes time, as often as it is a key"""

LONGS = 16
"""how many of them there may be: PyTorch's magic number, the state of a random generator"""


def refuse_instructions(program: bytes, budget: Budget) -> None:
    """Refuse a pickle by its instructions, none of which is followed.

    Raises
    ------
    PickleError
        if it has one that no model needs, numbers its parts beyond its own length, or makes keys of many values
    FileError
        if there are more of them than the budget has steps
    """
    sizes, longs = _Sizes(), 0
    for opcode, argument, _ in pickletools.genops(program):
        budget.step()
        size = abs(argument) if isinstance(argument, int) else 0
        longs += size >= LONG
        if longs > LONGS or size >= LONGEST:
            raise PickleError(
                f"the pickle has a number beyond 256 bits, or more than {LONGS} beyond 64. It was refused."
            )
        if opcode.name in FORBIDDEN:
            raise PickleError(f"the pickle has the instruction {opcode.name}, which no model needs. It was refused.")
        if "PUT" in opcode.name and int(argument or 0) > len(program):
            raise PickleError("damaged: the pickle numbers its parts beyond its own length.")
        if max(sizes.keys(opcode.name), default=0) > KEY:
            raise PickleError(f"the pickle has a key that is made of more than {KEY} values. It was refused.")
        sizes.follow(opcode, argument)


class _Sizes:
    """How many values each value on a pickle's stack is made of, each counted as often as it is used."""

    def __init__(self) -> None:
        self.stack: list[int] = []
        self.marks: list[int] = []
        self.memo: dict[int, int] = {}

    def keys(self, name: str) -> list[int]:
        """Return the sizes of what the next instruction hashes."""
        since = self.marks[-1] if self.marks else 0
        if name == "SETITEM":
            return self.stack[-2:-1]
        if name in {"SETITEMS", "DICT"}:
            return self.stack[since::2]
        return self.stack[since:] if name in {"ADDITEMS", "FROZENSET"} else []

    def follow(self, opcode: pickletools.OpcodeInfo, argument: Any) -> None:
        """Take from the stack what an instruction takes, and put there what it makes."""
        if opcode.name == "MARK":
            self.marks.append(len(self.stack))
        elif opcode.name == "POP" and self.marks[-1:] == [len(self.stack)]:
            self.marks.pop()
        elif "PUT" in opcode.name or opcode.name == "MEMOIZE":
            self.memo[len(self.memo) if argument is None else int(argument)] = self.stack[-1]
        elif "GET" in opcode.name:
            self.stack.append(self.memo.get(int(argument), 1))
        else:
            made = 1 + self._pop(opcode.stack_before)
            self.stack.extend([min(made, KEY + 1)] * len(opcode.stack_after))

    def _pop(self, before: list[pickletools.StackObject]) -> int:
        count = len(before)
        if pickletools.markobject in before:
            count = before.index(pickletools.markobject) + len(self.stack) - self.marks.pop()
        start = max(0, len(self.stack) - count)
        size = sum(self.stack[start:])
        del self.stack[start:]
        return size


def check_object_graph_size(value: Any, most: int, parts: Callable[[Any], Iterable[Any]]) -> None:
    """Refuse a value that is made of more than so many values, each counted as often as it is used.

    Parameters
    ----------
    value
        what was read
    most
        how many there may be
    parts
        tells what a value is directly made of; what leads back to itself is followed once

    Raises
    ------
    PickleError
        if there are more
    """
    sizes: dict[int, int] = {}
    waiting = [(value, False)]
    while waiting:
        whole, counted = waiting.pop()
        if counted:
            sizes[id(whole)] = 1 + sum(sizes.get(id(part), 1) for part in parts(whole))
            if sizes[id(whole)] > most:
                raise PickleError(
                    f"the pickle makes more than {most} values of a few, by repeating them. It was refused."
                )
        elif id(whole) not in sizes:
            sizes[id(whole)] = 1
            waiting.append((whole, True))
            waiting.extend((part, False) for part in parts(whole))
