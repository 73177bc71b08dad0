"""One number that a framework prints: its name there, the metric it is, and how it is printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kgeval.metrics.tables.names import Part
from kgeval.ranking.table_rows import WITH_TEST

Setting = Literal["filtered", "raw", "with_test"]

COUNTS: dict[Setting, str] = {"filtered": "", "raw": "raw_", "with_test": WITH_TEST}
"""what the names of a rank table's counts begin with"""


@dataclass(frozen=True)
class FrameworkMetric:
    """One number that a framework prints."""

    name: str
    """what the framework calls it"""
    metric: str
    """what kgeval calls it"""
    side: Part = "both"
    setting: Setting = "filtered"
    drop_k_above_candidates: bool = False
    """whether it is left out where its cut-off is more than there are candidates"""
    text: Callable[[float], str] | None = None
    """how it is printed, where the protocol's other numbers are printed in another way"""
