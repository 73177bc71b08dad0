"""Relations that give each other away: near and reverse duplicates, symmetric ones, inverse rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.analysis.audits.finding import Finding, Found, Tally
from kgeval.arrays import IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.leaks import TOO_LARGE, TOO_MANY
from kgeval.data.relation_overlaps import Overlaps, PairedFacts


@dataclass(frozen=True, eq=False)
class RelatedRelations:
    """The relations of a graph that overlap, and the train triples in which partners are looked for."""

    train: PairedFacts | None
    duplicates: Overlaps
    """near-duplicates: at least the threshold of both, over all splits; each pair both ways round"""
    reverses: Overlaps
    """the same with the second relation turned round; the first with itself where it is symmetric"""
    rules: Overlaps
    """inverse rules: at least the threshold of either, in train; each pair both ways round"""
    skipped: str = ""
    """a note on what was not searched for, with a place for what"""

    @classmethod
    def of(cls, dataset: Dataset, threshold: float) -> RelatedRelations:
        """Count what relations share, over all splits and over train."""
        sizes = len(dataset.entities), len(dataset.relations)
        facts = PairedFacts.of(dataset.splits.values(), *sizes)
        none = Overlaps(*(np.empty(0, np.int64),) * 3, np.zeros(sizes[1], np.int64) if facts is None else facts.sizes)
        if facts is None:
            return cls(None, none, none, none, TOO_LARGE)
        duplicates, reverses = facts.shared(least=threshold), facts.turned(least=threshold)
        del facts
        train = PairedFacts.of([dataset.train], *sizes)
        rules = None if train is None else train.turned(least=threshold)
        if duplicates is None or reverses is None or rules is None:
            return cls(train, none, none, none, TOO_MANY)
        return cls(train, duplicates.of_both(threshold), reverses.of_both(threshold), rules.of_either(threshold))

    @property
    def sizes(self) -> IntArray:
        """How many pairs (head, tail) each relation has in all splits; int64[relation]."""
        return self.duplicates.sizes


def related_found(dataset: Dataset, related: RelatedRelations) -> Found:
    """List the relations that are related, each pair once, the largest first; nothing of what was not searched for."""
    if related.skipped:
        return Found([], [])
    symmetric = related.reverses.first == related.reverses.second
    listed = {
        "near-duplicate relations": _listed("near-duplicate relations", dataset, related.duplicates),
        "reverse-duplicate relations": _listed(
            "reverse-duplicate relations", dataset, related.reverses.where(~symmetric)
        ),
        "symmetric relations": _listed("symmetric relations", dataset, related.reverses.where(symmetric)),
        "inverse rules": _listed("inverse rules", dataset, related.rules, split="train"),
    }
    totals = {"symmetric relations": len(dataset.relations)}
    tallies = [Tally(kind, len(findings), totals.get(kind)) for kind, findings in listed.items()]
    return Found(tallies, [finding for findings in listed.values() for finding in findings])


def _listed(kind: str, dataset: Dataset, overlaps: Overlaps, split: str | None = None) -> list[Finding]:
    """List overlaps, each once: what is shared of the larger relation, or by an inverse rule of the smaller one."""
    once = overlaps.where(overlaps.first <= overlaps.second)
    sizes = np.stack([once.sizes[once.first], once.sizes[once.second]])
    totals = sizes.min(axis=0) if kind == "inverse rules" else sizes.max(axis=0)
    labels = dataset.relations
    columns = (column.tolist() for column in (once.first, once.second, once.shared, totals))
    findings = [
        Finding(kind, labels[first], None if first == second else labels[second], split, count, total)
        for first, second, count, total in zip(*columns, strict=True)
    ]
    return sorted(findings, key=lambda finding: -finding.count)
