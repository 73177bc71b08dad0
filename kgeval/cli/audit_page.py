"""The page of ``kgeval audit``: a table for each section, and in words what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgeval.analysis.audits.audit import Audit


def show_audit(audit: Audit) -> None:
    """Print how much there is of each kind, and of what there is, what it means and the worst of it."""
    from kgeval.cli.display import show_head, show_prose, show_table
    from kgeval.cli.streams import say

    show_head(audit.head)
    for columns, rows in audit.sections():
        show_table(columns, rows)
        say("")
    show_prose(["", ""], [[kind, text] for kind, text in audit.explanations().items()])
