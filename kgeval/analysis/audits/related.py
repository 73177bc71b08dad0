"""Relations that give each other away: near and reverse duplicates, symmetric ones, inverse rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.analysis.audits.finding import Finding, Found, Tally
from kgeval.arrays import IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.relation_overlaps import Overlaps, PairedFacts


@dataclass(frozen=True, eq=False)
class RelatedRelations:
    """The relations of a graph that overlap, and the train triples in which partners are looked for.

    What there is too much of to search for is None.
    """

    sizes: IntArray
    """int64[relation], how many pairs (head, tail) each has in all splits"""
    train: PairedFacts | None = None
    duplicates: Overlaps | None = None
    """near-duplicates: at least the threshold of both, over all splits; each pair both ways round"""
    reverses: Overlaps | None = None
    """the same with the second relation turned round; the first with itself where it is symmetric"""
    rules: Overlaps | None = None
    """inverse rules: at least the threshold of either, in train; each pair both ways round"""

    @classmethod
    def of(cls, dataset: Dataset, threshold: float) -> RelatedRelations:
        """Count what relations share, over all splits and over train."""
        entities, relations = len(dataset.entities), len(dataset.relations)
        facts = PairedFacts.of(dataset.splits.values(), entities, relations)
        if facts is None:
            return cls(np.zeros(relations, np.int64))
        sizes, duplicates, reverses = facts.sizes, facts.shared(least=threshold), facts.turned(least=threshold)
        del facts
        train = PairedFacts.of([dataset.train], entities, relations)
        rules = None if train is None else train.turned(least=threshold)
        return cls(
            sizes,
            train,
            None if duplicates is None else duplicates.of_both(threshold),
            None if reverses is None else reverses.of_both(threshold),
            None if rules is None else rules.of_either(threshold),
        )

    @property
    def unknown(self) -> str:
        """A note on what was not searched for; empty where everything was."""
        if self.train is None:
            return "which relations are related is not known: the graph has too many entities and relations to search."
        searched = {
            "near-duplicate": self.duplicates,
            "symmetric or reverse-duplicate": self.reverses,
            "partners of inverse rules": self.rules,
        }
        missing = ", which are ".join(kind for kind, found in searched.items() if found is None)
        why = "too many facts stand between the same two entities to compare all of them."
        return f"which relations are {missing} is not known: {why}" if missing else ""


def related_found(dataset: Dataset, related: RelatedRelations) -> Found:
    """List the relations that are related, each pair once, the largest first; nothing of what was not searched for."""
    listed: dict[str, list[Finding]] = {}
    if related.duplicates is not None:
        listed["near-duplicate relations"] = _listed("near-duplicate relations", dataset, related.duplicates)
    if related.reverses is not None:
        symmetric = related.reverses.first == related.reverses.second
        for kind, kept in (("reverse-duplicate relations", ~symmetric), ("symmetric relations", symmetric)):
            listed[kind] = _listed(kind, dataset, related.reverses.where(kept))
    if related.rules is not None:
        listed["inverse rules"] = _listed("inverse rules", dataset, related.rules, split="train")
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
