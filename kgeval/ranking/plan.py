"""The plan: how many queries and candidates are in hand at a time. It changes the speed, never a count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MEMORY = 256 * 2**20
"""bytes that the blocks of an evaluation may take, unless told otherwise"""


@dataclass(frozen=True)
class Plan:
    """Block sizes."""

    queries: int
    candidates: int

    @classmethod
    def for_vectors(cls, dim: int, own: int, batch_size: int | None) -> Plan:
        """Take as many vectors as fit, each perhaps in two forms, where a query brings ``own`` vectors with it."""
        rows = MEMORY // (4 * 8 * max(dim, 1))
        return cls(batch_size or min(max(rows // max(own, 1), 1), 8192), min(max(rows, 64), 8192))

    @classmethod
    def for_scores(cls, width: int, batch_size: int | None) -> Plan:
        """Take as many queries as their scores fit into the memory, in the scorer's precision and in float64."""
        return cls(batch_size or max(1, min(MEMORY // (16 * max(width, 1)), 4096)), width)


def slices(total: int, step: int) -> Iterator[slice]:
    """Cut a range into blocks.

    >>> list(slices(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return (slice(start, min(start + step, total)) for start in range(0, total, step))
