"""A metric of a framework: its name there, kgeval's name, and its format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kgeval.metrics.tables.names import Part, parse
from kgeval.protocols.framework_means import Values
from kgeval.ranking.table_rows import WITH_TEST

Setting = Literal["filtered", "raw", "with_test"]

COUNTS: dict[Setting, str] = {"filtered": "", "raw": "raw_", "with_test": WITH_TEST}
"""the prefix of a setting's counts among the columns of a rank table"""


@dataclass(frozen=True)
class FrameworkMetric:
    """A number that a framework prints."""

    name: str
    """the framework's name"""
    metric: str
    """kgeval's name"""
    side: Part = "both"
    setting: Setting = "filtered"
    drop_k_above_candidates: bool = False
    """whether it is left out where k is larger than the number of candidates"""
    text: Callable[[float], str] | None = None
    """its number format, where that is not the protocol's"""
    from_zero: bool = False
    """whether the framework calls the first rank 0 here"""

    @property
    def values(self) -> Values:
        """The function of ranks whose mean it is."""
        name = parse(self.metric)
        return {
            "mr": lambda ranks: ranks,
            "mrr": lambda ranks: 1 / ranks,
            "hits": lambda ranks: (ranks <= name.k).astype(ranks.dtype),
        }[name.name]
