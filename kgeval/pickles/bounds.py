"""Bounds on pickles: only instructions that files of models need, and values in proportion to the length.

A value may be used many times, so that a few bytes can spell a tuple that takes a lifetime to hash, compare or print.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kgeval.errors import PickleError
from kgeval.files.budget import Budget

FORBIDDEN = {"NEXT_BUFFER", "READONLY_BUFFER", "EXT1", "EXT2", "EXT4", "INST", "OBJ", "PERSID"}
"""instructions that no such file has, and that could ask for memory or code out of proportion to it"""

KEY = 64
"""how many values a key of a dictionary may be made of: it is hashed while the pickle is read"""

TUPLES = 512
"""how many keys may be tuples or sets: they can be chosen so that a dictionary takes forever to find them"""

COMPOSITES = {"TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "FROZENSET"}
"""instructions that make them"""

CALLS = {"REDUCE", "NEWOBJ", "NEWOBJ_EX"}
"""instructions whose results are neither: what is called refuses to give one"""

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
        if it has one that no model needs, numbers its parts beyond its own length, or makes keys of many values, or
        many keys of several values
    FileError
        if there are more of them than the budget has steps
    """
    sizes, longs, tuples = _Sizes(), 0, 0
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
        keys = sizes.keys(opcode.name)
        tuples += sum(key.composite for key in keys)
        if tuples > TUPLES:
            raise PickleError(f"the pickle has more than {TUPLES} keys that are tuples or sets. It was refused.")
        if any(key.size > KEY for key in keys):
            raise PickleError(f"the pickle has a key that is made of more than {KEY} values. It was refused.")
        sizes.follow(opcode, argument)


class _Value(NamedTuple):
    """What is known of a value without making it."""

    size: int = 1
    """how many values it is made of, each counted as often as it is used"""
    composite: bool = False
    """whether it may be a tuple or a set: its hash follows from those of its parts"""


class _Sizes:
    """How many values each value on a pickle's stack is made of."""

    def __init__(self) -> None:
        self.stack: list[_Value] = []
        self.marks: list[int] = []
        self.memo: dict[int, _Value] = {}

    def keys(self, name: str) -> list[_Value]:
        """Return what the next instruction hashes."""
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
            self.stack.append(self.memo.get(int(argument), _Value()))
        elif not opcode.stack_before:
            self.stack.extend([_Value()] * len(opcode.stack_after))
        else:
            taken = self._pop(opcode.stack_before)
            size = min(1 + sum(value.size for value in taken), KEY + 1)
            passed_on = opcode.name not in CALLS and any(value.composite for value in taken)
            made = _Value(size, composite=passed_on or opcode.name in COMPOSITES)
            self.stack.extend([made] * len(opcode.stack_after))

    def _pop(self, before: list[pickletools.StackObject]) -> list[_Value]:
        count = len(before)
        if pickletools.markobject in before:
            count = before.index(pickletools.markobject) + len(self.stack) - self.marks.pop()
        start = max(0, len(self.stack) - count)
        popped = self.stack[start:]
        del self.stack[start:]
        return popped


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
