"""The result of ``kgeval.explain``: a metric under several protocols, and the causes of its differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.base.errors import counted
from kgeval.base.provenance import Provenance, subject_of
from kgeval.base.tables.shown import Brief, Shown
from kgeval.base.tables.table import Cell, Figure, Table

NOTHING = "·"
"""the text of a change that would be printed as zero, such as that of sums in float32"""


@dataclass(frozen=True, repr=False)
class ProtocolExplanation(Brief):
    """The value of a metric under one protocol, and the causes of its difference from the standard one."""

    protocol: str
    value: float
    causes: dict[str, float]
    """the change by each rule; the changes add up to the whole difference"""
    optimistic: float
    """the value with optimistic ranks, and all other rules of the protocol"""
    pessimistic: float
    """the value with pessimistic ranks"""
    provenance: Provenance
    """the provenance of the protocol's value"""
    notes: tuple[str, ...] = ()

    def _brief(self) -> str:
        return f"{self.protocol}: {self.value:.6g}"


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """One model under several protocols."""

    metric: str
    standard: float
    """the value under kgeval's own protocol"""
    provenance: Provenance
    """the provenance of that value"""
    rows: tuple[ProtocolExplanation, ...]
    notes: tuple[str, ...]
    """the notes on the standard ranks, and on their ties if these change the metric"""

    @property
    def causes(self) -> list[str]:
        """The causes that change the value of some protocol."""
        causes = dict.fromkeys(cause for row in self.rows for cause in row.causes)
        return [cause for cause in causes if any(row.causes.get(cause) for row in self.rows)]

    def __getitem__(self, name: str) -> ProtocolExplanation:
        return next(row for row in self.rows if row.protocol == name)

    @property
    def heads(self) -> tuple[str, ...]:
        about, *leaks = self.provenance.heads
        return (f"{about}: {self.metric} {self.standard:.6f}", *leaks)

    def _brief(self) -> str:
        subject = subject_of(self.provenance.model, self.provenance.dataset)
        return f"{self.metric} {self.standard:.6g} of {subject}, under {counted(len(self.rows), 'protocol')}"

    def tables(self) -> tuple[Table, ...]:
        """Return a row for each protocol; a change below the last digit is a dot."""
        exact = [
            # The values are printed differently, but their difference would be printed as zero.
            f"{self.standard:.6f}" != f"{row.value:.6f}"
            and _figure(difference(self.standard, row.value)).text == NOTHING
            for row in self.rows
        ]
        changes = {
            cause: [_figure(row.causes.get(cause, 0.0), exact=exact[index]) for index, row in enumerate(self.rows)]
            for cause in self.causes
        }
        changes = {cause: cells for cause, cells in changes.items() if {cell.text for cell in cells} != {NOTHING}}
        columns = ["protocol", self.metric, "− standard", *changes, "if all ties won", "if all ties lost"]
        rows: list[list[Cell]] = [
            [
                *(row.protocol, row.value, _figure(difference(self.standard, row.value), exact=exact[index])),
                *(cells[index] for cells in changes.values()),
                *(row.optimistic, row.pessimistic),
            ]
            for index, row in enumerate(self.rows)
        ]
        return (Table(columns, rows),)

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


def difference(before: float, after: float) -> float:
    """Subtract values of a metric; the difference of equal ones is 0, also of infinite ones."""
    return 0.0 if before == after else after - before


def _figure(change: float, *, exact: bool = False) -> Figure:
    """Format a change; one that rounds to zero is a dot, or if ``exact`` its first digit."""
    text = f"{change:+.6f}"
    if not float(text):
        text = f"{change:+.0e}" if exact and change else NOTHING
    return Figure(change, text=text)


def _plain(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)
