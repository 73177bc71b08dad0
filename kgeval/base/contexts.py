"""Values for the code of a ``with`` block in one thread, for functions to which no argument can be passed.

``compiling.py``, ``files.py``, ``progress.py`` and ``threads.py`` pass settings to functions deep below in this way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def holding(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Let a variable have a value within a block.

    >>> depth = ContextVar("depth", default=0)
    >>> with holding(depth, 1):
    ...     depth.get()
    1
    >>> depth.get()
    0
    """
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
