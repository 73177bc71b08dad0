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
        return self.count / self.total if self.total else None

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in {**asdict(self), "share": self.share}.items() if value is not None}


class Found(NamedTuple):
    """The counts and findings of one part of the audit."""

    tallies: list[Tally]
    findings: list[Finding]


AKRAMI = "Akrami et al., 2020"
DETTMERS = "Dettmers et al., 2018"
TOUTANOVA = "Toutanova and Chen, 2015"


@dataclass(frozen=True)
class Kind:
    """A kind of finding."""

    section: str
    meaning: str
    """a sentence, with a place for the ``threshold``"""
    source: str = ""


RELATIONS, TRIPLES, DEGREES, LABELS = "relations", "triples", "degrees", "labels"

KINDS = {
    "near-duplicate relations": Kind(
        RELATIONS, "Two relations have at least {threshold} of their pairs (head, tail) in common.", AKRAMI
    ),
    "reverse-duplicate relations": Kind(
        RELATIONS, "At least {threshold} of each relation's pairs are in the other, head and tail swapped.", AKRAMI
    ),
    "symmetric relations": Kind(RELATIONS, "At least {threshold} of its pairs are in it both ways.", AKRAMI),
    "Cartesian relations": Kind(
        RELATIONS, "At least {threshold} of all pairs of its heads and tails are triples.", AKRAMI
    ),
    "inverse rules": Kind(
        RELATIONS, "In train, at least {threshold} of one relation's pairs are in the other, swapped.", DETTMERS
    ),
    "repeated": Kind(TRIPLES, "Train has the triple itself."),
    "reverse": Kind(TRIPLES, "Train has it swapped, under a reverse duplicate or the same symmetric relation.", AKRAMI),
    "duplicate": Kind(TRIPLES, "Train has its head and tail under a near-duplicate relation.", AKRAMI),
    "inverse": Kind(TRIPLES, "Train has it swapped, under the partner of an inverse rule.", DETTMERS),
    "leaked": Kind(TRIPLES, "Any of the four above: a model can look it up in train.", TOUTANOVA),
    "Cartesian": Kind(TRIPLES, "Its relation is Cartesian.", AKRAMI),
    "in valid too": Kind(TRIPLES, "Valid has the triple itself: it influenced a model that was chosen by valid."),
    "unseen entity": Kind(TRIPLES, "Its head or its tail is not in train."),
    "unseen relation": Kind(TRIPLES, "Its relation is not in train."),
    "triples at hubs": Kind(DEGREES, "They contain one of the 1 % of entities with the most triples, in all splits."),
    "relations with few test triples": Kind(DEGREES, "Fewer than 10 test triples: their metrics are mostly noise."),
    "entities that appear once": Kind(DEGREES, "They are in one triple of all splits: nothing else is known of them."),
    "entity label twins": Kind(
        LABELS, "Labels that differ only by Unicode form, white space or case: perhaps one entity under several ids."
    ),
    "relation label twins": Kind(
        LABELS, "Labels that differ only by Unicode form, white space or case: perhaps one relation under several ids."
    ),
}
"""in the order in which they are shown"""
