"""A section of the page: a question, the finding that answers it, and what its template shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Section:
    """One part of the page."""

    anchor: str
    """its id in the page; its template is the file of that name"""
    name: str
    """in the navigation"""
    title: str
    """the finding, in a sentence"""
    content: Mapping[str, Any] = field(default_factory=dict)
    """what the template shows"""
    charts: Mapping[str, Any] = field(default_factory=dict)
    """Altair charts by the name under which the template shows them"""
    data: Mapping[str, Any] = field(default_factory=dict)
    """what the page's script reads, by name: plain data"""
