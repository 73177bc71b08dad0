"""Findings: one thing that an audit found, and how much there is of a kind."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Finding:
    """One thing that was found, such as a pair of relations that are near-duplicates."""

    kind: str
    subject: str
    """the label of the relation or the entity; of label twins, of the first of them"""
    partner: str | None
    """the label of the other relation; of label twins, of the second"""
    split: str | None
    """whose triples are counted; None: those of all splits"""
    count: int
    total: int
    """what ``count`` is a part of, as the kind says"""
    detail: str | None = None
    """the first of the triples, by its labels; of label twins, what they differ by"""

    @property
    def share(self) -> float:
        """The count as a part of the total."""
        return self.count / self.total

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without what this kind does not have."""
        plain = {**asdict(self), "share": self.share}
        return {name: value for name, value in plain.items() if value is not None and name != "kind"}


@dataclass(frozen=True)
class Tally:
    """How much there is of one kind."""

    kind: str
    count: int
    total: int | None = None
    """of how many; None where findings are pairs of relations"""
    split: str | None = None
    """the split whose triples are counted, if they are those of one"""

    @property
    def share(self) -> float | None:
        """The count as a part of the total, if there is any."""
        return self.count / self.total if self.total else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {name: value for name, value in {**asdict(self), "share": self.share}.items() if value is not None}


class Found(NamedTuple):
    """What one part of the audit found."""

    tallies: list[Tally]
    findings: list[Finding]
