"""Leaked triples: which of valid or test train gives away, and in which of four ways."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kgeval.analysis.audits.finding import Finding, Found, Tally
from kgeval.analysis.audits.related import RelatedRelations
from kgeval.arrays import BoolArray, IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.lookup import TripleIndex
from kgeval.data.triples import Triples

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
