"""Batches that become smaller where a model needs more memory than there is, on a processor or a device."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

SAID = ("out of memory", "can't allocate memory")
"""what torch says of the memory of a processor and of Apple's devices, for which it has no exception"""


class ShrinkingBatches:
    """Computes in batches; one that does not fit is tried again, half as large, and so are those after it.

    Examples
    --------
    >>> def square(part):
    ...     if part.stop - part.start > 2:
    ...         raise MemoryError
    ...     return [number**2 for number in range(part.start, part.stop)]
    >>> batches = ShrinkingBatches(4)
    >>> list(batches.compute(square, 5)), batches.size
    ([[0, 1], [4, 9], [16]], 2)
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def compute(self, function: Callable[[slice], T], count: int) -> Iterator[T]:
        """Yield what a function returns for slices of so many rows, in order."""
        start = 0
        while start < count:
            size = min(self.size, count - start)
            try:
                result = function(slice(start, start + size))
            except Exception as error:
                if size == 1 or not is_out_of_memory(error):
                    raise
                self.size = size // 2
            else:
                start += size
                yield result


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that memory is lacking."""
    torch = sys.modules.get("torch")
    if isinstance(error, MemoryError) or (torch is not None and isinstance(error, torch.cuda.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in SAID)
