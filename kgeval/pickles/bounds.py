"""Bounds on pickles: only instructions that model files need, and values in proportion to the length.

A pickle may use a value many times, so a few bytes can make a list that takes exponential time to print.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterable
from typing import Any

from kgeval.errors import PickleError
from kgeval.files.opening import Budget

FORBIDDEN = {"NEXT_BUFFER", "READONLY_BUFFER", "EXT1", "EXT2", "EXT4", "INST", "OBJ", "PERSID"}
"""instructions that no model file has, and that could take memory or run code out of proportion to its size"""


def refuse_instructions(program: bytes, budget: Budget) -> None:
    """Refuse a pickle by its instructions, without executing them."""
    for opcode, argument, _ in pickletools.genops(program):
        budget.step()
        if opcode.name in FORBIDDEN:
            raise PickleError(f"the pickle has the instruction {opcode.name}, which no model needs. It was refused.")
        if "PUT" in opcode.name and int(argument or 0) > len(program):
            raise PickleError("damaged: the pickle numbers its parts beyond its own length.")


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
