"""The audit of a dataset: what in it inflates metrics, such as leaked triples, or makes them noisy, such as hubs.

``kgeval audit`` and users call ``audit``, which runs ``searches.py`` on a dataset and returns an :class:`Audit`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kgeval.analysis.audits.searches import (
    KINDS,
    WAYS_APART,
    Finding,
    RelatedRelations,
    Tally,
    cartesian_found,
    degrees_found,
    flags_of,
    leaked_found,
    overlaps_found,
    related_found,
    twins_found,
)
from kgeval.base.arrays import BoolArray
from kgeval.base.assumptions import read_as
from kgeval.base.errors import DatasetError, InputError, counted, refuse_unknown
from kgeval.base.notes import in_json
from kgeval.base.tables.shown import Shown
from kgeval.base.tables.table import Cell, Figure, Table
from kgeval.data.dataset import Dataset
from kgeval.data.leaks import INVERSE_SHARE
from kgeval.data.loading import Source, as_dataset, as_datasets
from kgeval.data.other_graphs import OVERLAP_WAYS, notes_on_labels

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 3
"""the number of findings of a kind that a text shows; ``to_dict`` and ``to_frame`` have all"""


def audit(
    dataset: Dataset | Source, *, threshold: float = INVERSE_SHARE, against: Source | Sequence[Source] = ()
) -> Audit:
    """Search a dataset for what inflates metrics: leaks, duplicate relations, unseen entities.

    Relations are related by P_r, their pairs (head, tail) over all splits: near-duplicates if |P1 ∩ P2| is at least
    the threshold of |P1| and of |P2|; reverse duplicates likewise with head and tail of P2 swapped, a symmetric
    relation being its own; Cartesian if |P_r| is at least the threshold of its heads times its tails (Akrami et al.,
    2020). An inverse rule holds if at least the threshold of either relation's train pairs are in the other with head
    and tail swapped (Dettmers et al., 2018). :data:`kgeval.analysis.audits.searches.KINDS` has the meaning of every
    kind of finding.

    Parameters
    ----------
    dataset
        the graph, or the folder or PyKEEN name of one
    threshold
        the share of pairs from which on relations are related, above 0 and at most 1
    against
        other graphs, such as those that a model was pre-trained on, in which the triples of valid and test are looked
        up by their labels

    Raises
    ------
    InputError
        if the threshold is not such a share, or if the dataset or another graph cannot be read; if two other graphs
        have one name, or there are no triples to look up

    Examples
    --------
    >>> family = Dataset.from_labels(
    ...     train=[("Eve", "parent_of", "Abel"), ("Eve", "parent_of", "Cain"), ("Abel", "child_of", "Eve")],
    ...     test=[("Cain", "child_of", "Eve")],
    ... )
    >>> found = audit(family)
    >>> [(finding.subject, finding.partner, finding.share) for finding in found.of_kind("reverse-duplicate relations")]
    [('child_of', 'parent_of', 1.0)]
    >>> found.flags("test")["reverse"], found.count("leaked", "test")
    (array([ True]), 1)
    """
    dataset = as_dataset(dataset)
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold <= 1:
        raise InputError(f"threshold (--threshold): expected a share above 0 and at most 1, found {threshold!r}.")
    others = _read_others(dataset, against)
    related = RelatedRelations.of(dataset, threshold)
    cartesian, of_cartesian = cartesian_found(dataset, related.sizes, threshold)
    flags: dict[str, dict[str, BoolArray]] = {
        split: flags_of(dataset, split, related, cartesian) for split in ("test", "valid") if split in dataset.splits
    }
    parts = [
        related_found(dataset, related),
        *([of_cartesian] if related.train is not None else []),
        *(leaked_found(dataset, split, of_split) for split, of_split in flags.items()),
        *(part for other in others for split in flags for part in overlaps_found(dataset, split, other)),
        degrees_found(dataset),
        twins_found(dataset.entities),
        twins_found(dataset.relations),
    ]
    return Audit(
        dataset,
        float(threshold),
        tuple(sorted((tally for part in parts for tally in part.tallies), key=_order)),
        tuple(sorted((finding for part in parts for finding in part.findings), key=_order)),
        flags,
        (*filter(None, [related.unknown]), *(note for other in others for note in notes_on_labels(dataset, other))),
    )


def _read_others(dataset: Dataset, against: Source | Sequence[Source]) -> list[Dataset]:
    """Read the graphs in which triples are looked up; refuse two of one name, and a dataset without such triples."""
    others = as_datasets(against)
    if len({other.name for other in others}) < len(others):
        raise InputError("against (--against): two graphs have the same name. Give each once, or rename a folder.")
    if others and not {"valid", "test"} & {*dataset.splits}:
        missing = f"dataset {dataset.name} has no valid or test triples to look up"
        raise DatasetError(f"against (--against): {missing}. Leave it out.")
    return others


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Shown):
    """What an audit found in a dataset. :func:`audit` makes one."""

    dataset: Dataset
    threshold: float
    """the share of pairs from which on relations are related"""
    tallies: tuple[Tally, ...]
    """the count of each kind; kinds of triples have a count in each split"""
    findings: tuple[Finding, ...]
    """all findings, in the order of the kinds; within a kind, the largest first"""
    split_flags: dict[str, dict[str, BoolArray]]
    """which triples are of a kind: {split: {kind: bool[triple]}}"""
    notes: tuple[str, ...] = ()
    """what was not searched for, and what labels other graphs share"""

    def of_kind(self, kind: str) -> tuple[Finding, ...]:
        """Return the findings of one kind.

        Raises
        ------
        InputError
            if there is no such kind
        """
        refuse_unknown("an audit has no kind", kind, KINDS)
        return self._by_kind[kind]

    def count(self, kind: str, split: str | None = None) -> int:
        """Return the count of a kind; for triples, in one split or in valid and test together.

        The counts in several other graphs are added; :meth:`to_frame` has the findings of each graph.

        Raises
        ------
        InputError
            if there is no such kind or split, or if the dataset, or the split, was not searched for it
        """
        refuse_unknown("an audit has no kind", kind, KINDS)
        if split is not None:
            self.dataset.split(split)
        tallies = [tally for tally in self.tallies if tally.kind == kind and split in (None, tally.split)]
        if not tallies:
            where = f"dataset {self.dataset.name}" + (f", split {split}," if split else "")
            raise InputError(": ".join([f"{where} was not searched for {kind!r}", *self.notes]))
        return sum(tally.count for tally in tallies)

    def flags(self, split: str = "test") -> dict[str, BoolArray]:
        """Return which triples of a split have which kind; bool[triple], in the order of ``dataset.split(split)``.

        Raises
        ------
        DatasetError
            if the dataset has no such split, or if it is train, with which the others are compared
        """
        if split == "train":
            raise DatasetError("triples of valid and test are flagged, not those of train. Choose 'valid' or 'test'.")
        self.dataset.split(split)
        return dict(self.split_flags[split])

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``audit.json``."""
        return {
            "schema": 1,
            "dataset": self.dataset.name,
            "entities": len(self.dataset.entities),
            "relations": len(self.dataset.relations),
            "triples": {split: len(triples) for split, triples in self.dataset.splits.items()},
            "threshold": self.threshold,
            "counts": [tally.to_dict() for tally in self.tallies],
            "findings": {kind: [finding.to_dict() for finding in self._by_kind[kind]] for kind in KINDS},
            **in_json(self.notes),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each finding: kind, subject, partner, split, count, total, share, detail."""
        import pandas as pd

        (table,) = self.csv_tables()
        return pd.DataFrame(list(table.rows), columns=list(table.columns))

    @cached_property
    def _by_kind(self) -> dict[str, tuple[Finding, ...]]:
        return {kind: tuple(finding for finding in self.findings if finding.kind == kind) for kind in KINDS}

    @property
    def heads(self) -> tuple[str, ...]:
        """The dataset, its sizes and the threshold, in a line."""
        sizes = ", ".join(f"{len(triples):,} {split}" for split, triples in self.dataset.splits.items())
        entities, relations = len(self.dataset.entities), len(self.dataset.relations)
        about = f"{self.dataset.name}: {entities:,} entities, {relations:,} relations, triples: {sizes}"
        return (f"{about}, threshold {self.threshold:g}", *filter(None, [read_as(self.dataset.assumptions)]))

    def explanations(self) -> dict[str, str]:
        """Explain each kind that was found, with its worst finding."""
        return {
            kind: _explained(kind, self._by_kind[kind], self.threshold, self.dataset.display_label)
            for kind in dict.fromkeys(tally.kind for tally in self.tallies if tally.count)
        }

    def tables(self) -> tuple[Table, ...]:
        """Return a table for each section: relations, triples, those in other graphs, degrees, labels."""
        sections: dict[str, list[Tally]] = {}
        for tally in self.tallies:
            sections.setdefault(KINDS[tally.kind].section, []).append(tally)
        return tuple(_section(section, tallies) for section, tallies in sections.items())

    def csv_tables(self) -> tuple[Table, ...]:
        """Return a row for each finding, with the columns of :meth:`to_frame`."""
        columns = ["kind", "subject", "partner", "split", "count", "total", "share", "detail"]
        return (Table(columns, [[getattr(finding, name) for name in columns] for finding in self.findings]),)

    def _brief(self) -> str:
        return f"{self.dataset.name}: {counted(len(self.findings), 'finding')} at threshold {self.threshold:g}"

    @property
    def below(self) -> tuple[str, ...]:
        """The meanings of the kinds, their worst findings, and what was not searched for."""
        return (*(f"{kind}: {text}" for kind, text in self.explanations().items()), *self.notes)


def _order(item: Tally | Finding) -> int:
    return list(KINDS).index(item.kind)


def _section(section: str, tallies: Sequence[Tally]) -> Table:
    """Lay out a section: a row for each kind; for kinds of triples, two columns for each split."""
    splits = {tally.split: f"of {tally.total}" for tally in tallies if tally.split}
    if not splits:
        rows = [[one.kind, one.count, "" if one.total is None else one.total, _share(one)] for one in tallies]
        return Table([section, "found", "of", "share"], rows)
    cells = {(tally.title, tally.split): (tally.count, _share(tally)) for tally in tallies}
    of_kinds: list[list[Cell]] = [
        [title, *(cell for split in splits for cell in cells.get((title, split), ("", "")))]
        for title in dict.fromkeys(tally.title for tally in tallies)
    ]
    return Table([section, *(cell for column in splits.items() for cell in column)], of_kinds)


def _share(tally: Tally) -> Cell:
    return "" if tally.share is None else Figure(tally.share, text=f"{tally.share:.1%}")


def _explained(kind: str, findings: Sequence[Finding], threshold: float, display: Callable[[str], str]) -> str:
    """Explain a kind, with its worst finding; for triples, in the first split that has any."""
    about = KINDS[kind]
    meaning = about.meaning.format(threshold=f"{threshold * 100:.4g}%")
    source = f" ({about.source})" if about.source else ""
    alike = [finding for finding in findings if finding.split == findings[0].split]
    worst = ", ".join(_shown(finding, display) for finding in alike[:SHOWN])
    more = f", and {len(alike) - SHOWN} more" if len(alike) > SHOWN else ""
    sentence = f"{meaning.removesuffix('.')}{source}."  # the source stands inside the sentence
    return f"{sentence} Worst: {worst}{more}." if worst else sentence


def _shown(finding: Finding, display: Callable[[str], str]) -> str:
    labels = [label for label in (finding.subject, finding.partner) if label is not None]
    if finding.detail in WAYS_APART:
        # Labels that look the same have to be distinguished.
        return f"{' and '.join(map(ascii, labels))} ({finding.detail})"
    split, joint = f" {finding.split}" if finding.detail else "", " in " if finding.kind in OVERLAP_WAYS else " and "
    return f"{joint.join(map(display, labels))} ({finding.count} of {finding.total}{split})"
