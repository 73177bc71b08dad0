"""The result of ``kgeval.explain``: a metric under several protocols, and the causes of its differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.provenance import Provenance

NOTHING = "·"
"""the text of a change that would be printed as zero, such as that of sums in float32"""


@dataclass(frozen=True)
class ProtocolExplanation:
    """The value of a metric under one protocol, and the causes of its difference from the standard one."""

    protocol: str
    value: float
    causes: dict[str, float]
    """the change by each rule; the changes add up to the whole difference"""
    optimistic: float
    """the value with optimistic ranks, all other rules being the protocol's"""
    pessimistic: float
    """the value with pessimistic ranks"""
    provenance: Provenance
    """of the protocol's value"""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """One model under several protocols."""

    metric: str
    standard: float
    """the value under kgeval's own protocol"""
    provenance: Provenance
    """of that value"""
    rows: tuple[ProtocolExplanation, ...]
    notes: tuple[str, ...]
    """the notes on the standard ranks, and on their ties where these matter"""

    @property
    def causes(self) -> list[str]:
        """The causes that change the value of some protocol."""
        causes = dict.fromkeys(cause for row in self.rows for cause in row.causes)
        return [cause for cause in causes if any(row.causes.get(cause) for row in self.rows)]

    def __getitem__(self, name: str) -> ProtocolExplanation:
        return next(row for row in self.rows if row.protocol == name)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the names of the columns and the cells of the rows; a change below the last digit is a dot."""
        exact = [
            # The values are printed differently, but their difference would be printed as zero.
            f"{self.standard:.6f}" != f"{row.value:.6f}" and _change(difference(self.standard, row.value)) == NOTHING
            for row in self.rows
        ]
        changes = {
            cause: [_change(row.causes.get(cause, 0.0), exact=exact[index]) for index, row in enumerate(self.rows)]
            for cause in self.causes
        }
        changes = {cause: texts for cause, texts in changes.items() if {*texts} != {NOTHING}}
        columns = ["protocol", self.metric, "− standard", *changes, "if all ties won", "if all ties lost"]
        rows = [
            [
                *(row.protocol, f"{row.value:.6f}", _change(difference(self.standard, row.value), exact=exact[index])),
                *(texts[index] for texts in changes.values()),
                *(f"{row.optimistic:.6f}", f"{row.pessimistic:.6f}"),
            ]
            for index, row in enumerate(self.rows)
        ]
        return columns, rows

    def to_dict(self) -> dict[str, Any]:
        """Return the content as plain data; infinite numbers are text."""
        return {
            "metric": self.metric,
            "standard": _plain(self.standard),
            "provenance": self.provenance.to_dict(),
            "protocols": {
                row.protocol: {
                    "value": _plain(row.value),
                    "causes": {cause: _plain(change) for cause, change in row.causes.items()},
                    "optimistic": _plain(row.optimistic),
                    "pessimistic": _plain(row.pessimistic),
                    "provenance": row.provenance.to_dict(),
                    "notes": list(row.notes),
                }
                for row in self.rows
            },
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        columns, rows = self.table()
        widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
        lines = (
            "  ".join(
                f"{cell:<{width}}" if index == 0 else f"{cell:>{width}}" for index, (cell, width) in enumerate(cells)
            )
            for cells in (zip(line, widths, strict=True) for line in (columns, *rows))
        )
        return "\n".join([str(self.provenance), "", *(line.rstrip() for line in lines)])


def difference(before: float, after: float) -> float:
    """Subtract values of a metric; the difference of equal ones is 0, also of infinite ones."""
    return 0.0 if before == after else after - before


def _change(change: float, *, exact: bool = False) -> str:
    """Format a change; one that rounds to zero is a dot, or if ``exact`` its first digit."""
    text = f"{change:+.6f}"
    if float(text):
        return text
    return f"{change:+.0e}" if exact and change else NOTHING


def _plain(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)
