"""Block sizes: how many queries and candidates are held at a time. They change the speed, never a count."""

from __future__ import annotations

from dataclasses import dataclass

MEMORY_DIVISOR = 4
"""an evaluation takes one part in so many of the free memory, where no limit is set"""

CHUNK = 8192
"""candidates held at a time: more of them would not stay in a processor's cache"""

BLOCK = 128
"""queries whose scores are held at a time, for the same reason"""


@dataclass(frozen=True)
class Plan:
    """How many queries, and how many candidates, are held at a time."""

    queries: int
    candidates: int

    @classmethod
    def for_shared(cls, dim: int, memory: int, *, places: int = 0) -> Plan:
        """Take all queries whose vectors, in float64, in low precision and while they are made, fit into half of it.

        With them go the best answers of each, at so many places.
        """
        return cls(_fit(memory, 64 * dim + 4096 + 64 * places), min(_fit(memory, 32 * dim + 12 * BLOCK), CHUNK))

    @classmethod
    def for_own(cls, dim: int, own: int, entities: int, memory: int) -> Plan:
        """Take as many queries as fit with the ``own`` candidates of each, or with all entities if that is less."""
        vectors = 16 * dim
        each = 64 * dim + 64 * own
        together = vectors * entities
        return cls(max(_fit(memory, each + vectors * own), _fit(memory - 2 * together, each)), entities)

    @classmethod
    def for_scores(cls, width: int, memory: int, batch_size: int | None) -> Plan:
        """Take as many queries as their scores fit, in the scorer's precision and in float64."""
        return cls(batch_size or min(_fit(memory, 32 * width), 4096), width)


def _fit(memory: int, each: int) -> int:
    """How many fit into half of the memory: there is room for one kind and for another."""
    return max(1, memory // 2 // each)
