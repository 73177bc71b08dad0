"""Relations that give each other away: near and reverse duplicates, symmetric ones, inverse rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kgeval.analysis.audits.finding import Finding, Found, Tally
from kgeval.arrays import BoolArray, IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.leaks import Overlaps, PairedFacts
from kgeval.data.queries import starts_of_runs
from kgeval.data.triples import TripleIndex, Triples


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
            duplicates and duplicates.of_both(threshold),
            reverses and reverses.of_both(threshold),
            rules and rules.of_either(threshold),
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
    overlaps = {"near-duplicate relations": related.duplicates, "inverse rules": related.rules}
    if related.reverses is not None:
        symmetric = related.reverses.first == related.reverses.second
        overlaps["reverse-duplicate relations"] = related.reverses.where(~symmetric)
        overlaps["symmetric relations"] = related.reverses.where(symmetric)
    listed = {kind: _listed(kind, dataset, found) for kind, found in overlaps.items() if found is not None}
    totals = {"symmetric relations": len(dataset.relations)}
    tallies = [Tally(kind, len(findings), totals.get(kind)) for kind, findings in listed.items()]
    return Found(tallies, [finding for findings in listed.values() for finding in findings])


def _listed(kind: str, dataset: Dataset, overlaps: Overlaps) -> list[Finding]:
    """List overlaps, each once: what is shared of the larger relation, or by an inverse rule of the smaller one."""
    once = overlaps.where(overlaps.first <= overlaps.second)
    sizes = np.stack([once.sizes[once.first], once.sizes[once.second]])
    of_train = kind == "inverse rules"
    totals, split = (sizes.min(axis=0), "train") if of_train else (sizes.max(axis=0), None)
    labels = dataset.relations
    columns = (column.tolist() for column in (once.first, once.second, once.shared, totals))
    findings = [
        Finding(kind, labels[first], None if first == second else labels[second], split, count, total)
        for first, second, count, total in zip(*columns, strict=True)
    ]
    return sorted(findings, key=lambda finding: -finding.count)


def cartesian_found(dataset: Dataset, pairs: IntArray, threshold: float) -> tuple[IntArray, Found]:
    """Find the relations r with |P_r| / (|S_r| · |O_r|) of at least the threshold and more than one train triple.

    P_r are its pairs over all splits, of which ``pairs`` (int64[relation]) has the numbers, S_r its distinct heads and
    O_r its distinct tails (Akrami et al., 2020). The relations are int64[Cartesian relation], ascending.
    """
    kind, possible = "Cartesian relations", _distinct(dataset, 0) * _distinct(dataset, 2)
    trained = np.bincount(dataset.train.relations, minlength=len(pairs))
    ids = np.flatnonzero((pairs / np.maximum(possible, 1) >= threshold) & (trained > 1))
    findings = [
        Finding(kind, dataset.relations[row], None, None, int(pairs[row]), int(possible[row])) for row in ids.tolist()
    ]
    tally = Tally(kind, len(findings), len(dataset.relations))
    return ids, Found([tally], sorted(findings, key=lambda finding: -finding.count))


def _distinct(dataset: Dataset, column: int) -> IntArray:
    """Count the different entities in a column of each relation's triples in all splits; int64[relation]."""
    entities = len(dataset.entities)
    parts = (part.relations * entities + part.ids[:, column] for part in dataset.splits.values())
    keys = np.concatenate([np.empty(0, np.int64), *parts])
    keys.sort()
    return np.bincount(keys[starts_of_runs(keys)] // max(entities, 1), minlength=len(dataset.relations))


WAYS = ("repeated", "reverse", "duplicate", "inverse")
"""from the plainest to the least plain; where a triple is given away in several ways, the first one names it"""


def leaks_of(related: RelatedRelations, triples: Triples) -> dict[str, BoolArray]:
    """Find the triples that train gives away, by way; bool[triple] each, and none of what was not searched for.

    ``repeated``: train has the triple itself. ``reverse``: it has (t, r′, h), where r′ is a reverse duplicate of r, or
    r itself and symmetric. ``duplicate``: (h, r′, t), where r′ is a near-duplicate of r. ``inverse``: (t, r′, h), where
    r and r′ are partners of an inverse rule. A triple may be given away in several ways.
    """
    train = related.train
    if train is None:
        return {}
    leaks = {"repeated": train.holds(triples)}
    for way, partners in (("reverse", related.reverses), ("duplicate", related.duplicates), ("inverse", related.rules)):
        if partners is not None:
            leaks[way] = train.partnered(triples, partners, turned=way != "duplicate")
    return leaks


def flags_of(dataset: Dataset, split: str, related: RelatedRelations, cartesian: IntArray) -> dict[str, BoolArray]:
    """Flag the triples of a split by kind; bool[triple] each."""
    triples = dataset.split(split)
    leaks = leaks_of(related, triples)
    known, used = (np.zeros(len(part), np.bool_) for part in (dataset.entities, dataset.relations))
    known[dataset.train.heads] = known[dataset.train.tails] = used[dataset.train.relations] = True
    flags = dict(leaks)
    if {*leaks} == {*WAYS}:
        flags["leaked"] = np.any([*leaks.values()], axis=0)
    if related.train is not None:
        flags["Cartesian"] = np.isin(triples.relations, cartesian)
    if split == "test" and len(dataset.valid):
        flags["in valid too"] = TripleIndex.of(dataset.valid).contains(triples)
    flags["unseen entity"] = ~(known[triples.heads] & known[triples.tails])
    flags["unseen relation"] = ~used[triples.relations]
    return flags


def leaked_found(dataset: Dataset, split: str, flags: Mapping[str, BoolArray]) -> Found:
    """Count the flagged triples of a split, and list them by relation, the largest first, each with an example."""
    triples, relations = dataset.split(split), len(dataset.relations)
    totals, findings = np.bincount(triples.relations, minlength=relations), []
    for kind, flagged in flags.items():
        rows = np.flatnonzero(flagged)
        found, first, counts = np.unique(triples.relations[rows], return_index=True, return_counts=True)
        for relation, row, count in zip(found.tolist(), rows[first].tolist(), counts.tolist(), strict=True):
            example, total = dataset.triple(*triples.ids[row].tolist()), int(totals[relation])
            findings.append(Finding(kind, dataset.relations[relation], None, split, count, total, example))
    tallies = [Tally(kind, int(flagged.sum()), len(triples), split) for kind, flagged in flags.items()]
    return Found(tallies, sorted(findings, key=lambda finding: -finding.count))
