"""The audit as text: how much there is of each kind, what that means, and the worst of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kgeval.analysis.audits.finding import Finding, Tally
from kgeval.analysis.audits.kinds import KINDS
from kgeval.analysis.audits.label_twins import WAYS_APART

SHOWN = 3
"""how many findings of a kind are shown; all of them are in the data"""


class SectionTable(NamedTuple):
    """How much there is of the kinds of a section."""

    columns: list[str]
    rows: list[list[str]]


def section_tables(tallies: Sequence[Tally]) -> Iterator[SectionTable]:
    """Lay out a table for each section: a row for each kind, and for kinds of triples, columns for each split.

    >>> tallies = [Tally("repeated", 25, 1000, "test"), Tally("repeated", 0, 900, "valid"), Tally("inverse rules", 2)]
    >>> for table in section_tables(tallies):
    ...     print(table.columns, table.rows)
    ['triples', 'test', 'of 1000', 'valid', 'of 900'] [['repeated', '25', '2.5%', '0', '0.0%']]
    ['relations', 'found', 'of', 'share'] [['inverse rules', '2', '', '']]
    """
    for section in dict.fromkeys(KINDS[tally.kind].section for tally in tallies):
        there = [tally for tally in tallies if KINDS[tally.kind].section == section]
        splits = {tally.split: f"of {tally.total}" for tally in there if tally.split}
        kinds = dict.fromkeys(tally.kind for tally in there)
        if splits:
            found = {(tally.kind, tally.split): [str(tally.count), _share(tally)] for tally in there}
            cells = [
                [kind, *(cell for split in splits for cell in found.get((kind, split), ["", ""]))] for kind in kinds
            ]
            yield SectionTable([section, *(cell for column in splits.items() for cell in column)], cells)
        else:
            totals = ["" if tally.total is None else str(tally.total) for tally in there]
            rows = [
                [tally.kind, str(tally.count), total, _share(tally)] for tally, total in zip(there, totals, strict=True)
            ]
            yield SectionTable([section, "found", "of", "share"], rows)


def _share(tally: Tally) -> str:
    return "" if tally.share is None else f"{tally.share:.1%}"


def explained(kind: str, findings: Sequence[Finding], *, threshold: float, display: Callable[[str], str]) -> str:
    """Say what a kind means, and show the worst of what was found; of triples, in the first split that has any.

    >>> found = [Finding("symmetric relations", "married_to", None, None, 90, 100)]
    >>> explained("symmetric relations", found, threshold=0.8, display=str)
    "At least 80% of the relation's pairs stand both ways (Akrami et al., 2020). Worst: married_to (90 of 100)."
    """
    about = KINDS[kind]
    meaning = about.meaning.format(threshold=f"{threshold * 100:.4g}%")
    source = f" ({about.source})" if about.source else ""
    alike = [finding for finding in findings if finding.split == findings[0].split]
    worst = ", ".join(_shown(finding, display) for finding in alike[:SHOWN])
    more = f", and {len(alike) - SHOWN} more" if len(alike) > SHOWN else ""
    return f"{meaning[:-1]}{source}.{f' Worst: {worst}{more}.' if worst else ''}"


def _shown(finding: Finding, display: Callable[[str], str]) -> str:
    labels = [label for label in (finding.subject, finding.partner) if label is not None]
    if finding.detail in WAYS_APART:
        # Labels that look the same have to be told apart.
        return f"{' and '.join(map(ascii, labels))} ({finding.detail})"
    split = f" {finding.split}" if finding.detail else ""
    return f"{' and '.join(map(display, labels))} ({finding.count} of {finding.total}{split})"
