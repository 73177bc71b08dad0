"""The searches of an audit: related relations, leaked triples, those in other graphs, hubs, rarities and label twins.

``audit.py`` calls them. Each ``…_found`` searches a dataset, or its labels, and returns counts (:class:`Tally`) and
findings of each kind.
``KINDS`` explains the kinds: to add one, name it there and list its findings in a search. The slice ``leak`` calls
``leaks_of``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.notes import Note
from kgeval.data.dataset import Dataset
from kgeval.data.leaks import is_later
from kgeval.data.other_graphs import OVERLAP_WAYS, first_overlaps, in_ids_of
from kgeval.data.queries import starts_of_runs
from kgeval.data.relation_overlaps import Overlaps, PairedFacts
from kgeval.data.triples import TripleIndex, Triples
from kgeval.data.vocabulary import Vocabulary

WAYS = ("repeated", "reverse", "duplicate", "inverse")
"""ways to look a test triple up in train, the plainest first; a triple that has several is counted under the first"""

HUBS = 0.01
"""the share of hubs among the entities that appear in a triple; their number is rounded up"""

FEW = 10
"""a relation with fewer test triples than this is rarely tested"""

SHOWN = 10
"""the number of hubs that are findings of their own"""

WAYS_APART = ("Unicode form", "white space", "case")
"""the ways in which label twins differ, in the order in which they are set aside"""

WHITE_SPACE = r"[\s\p{Z}\x{0B}\x{85}]+"
AKRAMI = "Akrami et al., 2020"
DETTMERS = "Dettmers et al., 2018"
TOUTANOVA = "Toutanova and Chen, 2015"


@dataclass(frozen=True)
class Flaw:
    """A kind of finding."""

    section: str
    """the table of the audit that has the kind"""
    meaning: str
    """a sentence that explains the kind, with a place for the ``threshold``"""
    source: str = ""
    """the paper that defines the kind"""


RELATIONS, TRIPLES, OVERLAPS, DEGREES, LABELS = "relations", "triples", "in other graphs", "degrees", "labels"

TWINS = "Labels that differ only by Unicode form, white space or case"

KINDS = {
    "near-duplicate relations": Flaw(
        RELATIONS, "Two relations have at least {threshold} of their pairs (head, tail) in common.", AKRAMI
    ),
    "reverse-duplicate relations": Flaw(
        RELATIONS, "At least {threshold} of each relation's pairs are in the other, head and tail swapped.", AKRAMI
    ),
    "symmetric relations": Flaw(RELATIONS, "At least {threshold} of its pairs are in it both ways.", AKRAMI),
    "Cartesian relations": Flaw(
        RELATIONS, "At least {threshold} of all pairs of its heads and tails are triples.", AKRAMI
    ),
    "inverse rules": Flaw(
        RELATIONS, "In train, at least {threshold} of one relation's pairs are in the other, swapped.", DETTMERS
    ),
    "repeated": Flaw(TRIPLES, "Train has the triple itself."),
    "returning": Flaw(TRIPLES, "Train has it at an earlier time, as all of train is: no leak in forecasting."),
    "reverse": Flaw(TRIPLES, "Train has it swapped, under a reverse duplicate or the same symmetric relation.", AKRAMI),
    "duplicate": Flaw(TRIPLES, "Train has its head and tail under a near-duplicate relation.", AKRAMI),
    "inverse": Flaw(TRIPLES, "Train has it swapped, under the partner of an inverse rule.", DETTMERS),
    "leaked": Flaw(TRIPLES, "Any of the four above: a model can look it up in train.", TOUTANOVA),
    "Cartesian": Flaw(TRIPLES, "Its relation is Cartesian.", AKRAMI),
    "in valid too": Flaw(TRIPLES, "Valid has the triple itself: it influenced a model that was chosen by valid."),
    "unseen entity": Flaw(TRIPLES, "Its head or its tail is not in train."),
    "unseen relation": Flaw(TRIPLES, "Its relation is not in train."),
    "same triple": Flaw(OVERLAPS, "The other graph has it. Models see no labels: overlap is no proof of memorising."),
    "same pair": Flaw(OVERLAPS, "The other graph has its pair (head, tail) under other relations only."),
    "swapped pair": Flaw(OVERLAPS, "The other graph has its pair (tail, head), and not (head, tail)."),
    "triples at hubs": Flaw(DEGREES, "They contain one of the 1 % of entities with the most triples, in all splits."),
    "relations with few test triples": Flaw(DEGREES, "Fewer than 10 test triples: their metrics are mostly noise."),
    "entities that appear once": Flaw(DEGREES, "They are in one triple of all splits: nothing else is known of them."),
    "entity label twins": Flaw(LABELS, f"{TWINS}: perhaps one entity under several ids."),
    "relation label twins": Flaw(LABELS, f"{TWINS}: perhaps one relation under several ids."),
}
"""the kinds of finding by name, in the order in which they are shown"""


@dataclass(frozen=True)
class Finding:
    """One thing that was found, such as a pair of relations that are near-duplicates."""

    kind: str
    subject: str
    """the label of the relation or the entity; for label twins, the label of the first twin"""
    partner: str | None
    """the label of the other relation or of the second twin; for triples in other graphs, the graph and its split"""
    split: str | None
    """the split whose triples are counted; None if all splits are"""
    count: int
    total: int
    """the number that ``count`` is a part of, as the kind says"""
    detail: str | None = None
    """the first of the counted triples, by its labels; for label twins, the way in which they differ"""

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
    """the number of triples, relations, entities or labels that were searched; None for pairs of relations"""
    split: str | None = None
    """the split of the counted triples; None if they are in several, or if relations are counted"""
    partner: str | None = None
    """the other graph that has the counted triples, and its split"""

    @property
    def title(self) -> str:
        return self.kind if self.partner is None else f"{self.partner}: {self.kind}"

    @property
    def share(self) -> float | None:
        return self.count / self.total if self.total else None

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in {**asdict(self), "share": self.share}.items() if value is not None}


class Found(NamedTuple):
    """The counts and findings of one part of the audit."""

    tallies: list[Tally]
    findings: list[Finding]


@dataclass(frozen=True, eq=False)
class RelatedRelations:
    """The relations of a graph that overlap, and the train triples in which partners are looked for.

    An attribute is None where the graph is too large to search for it.
    """

    sizes: IntArray
    """the number of pairs (head, tail) of each relation in all splits; int64[relation]"""
    train: PairedFacts | None = None
    """the train triples, in a form in which pairs of entities are looked up"""
    duplicates: Overlaps | None = None
    """near-duplicates, which share at least the threshold of the pairs of both; (r1, r2) and (r2, r1) are listed"""
    reverses: Overlaps | None = None
    """reverse duplicates, the same with head and tail of r2 swapped; a symmetric relation is listed with itself"""
    rules: Overlaps | None = None
    """inverse rules, which share at least the threshold of the train pairs of r1 or r2, swapped; listed both ways"""

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
        duplicates, reverses = (some and some.of_both(threshold) for some in (duplicates, reverses))
        return cls(sizes, train, duplicates, reverses, rules)

    @property
    def unknown(self) -> str:
        """A note on what was not searched for; empty if everything was."""
        if self.train is None:
            size = "the graph has too many entities and relations"
            return Note("leaks", f"related relations were not searched for: {size}.")
        searched = {
            "near-duplicate": self.duplicates,
            "symmetric or reverse-duplicate": self.reverses,
            "partners of inverse rules": self.rules,
        }
        missing = ", or ".join(kind for kind, overlaps in searched.items() if overlaps is None)
        unsearched = f"relations that are {missing} were not searched for"
        return Note("leaks", f"{unsearched}: too many facts have the same two entities.") if missing else ""


def related_found(dataset: Dataset, related: RelatedRelations) -> Found:
    """List the pairs of related relations, each once, the largest first, by the kinds that were searched for."""
    overlaps = {"near-duplicate relations": related.duplicates, "inverse rules": related.rules}
    if related.reverses is not None:
        symmetric = related.reverses.first == related.reverses.second
        overlaps["reverse-duplicate relations"] = related.reverses.where(~symmetric)
        overlaps["symmetric relations"] = related.reverses.where(symmetric)
    listed = {kind: _listed(kind, dataset, overlap) for kind, overlap in overlaps.items() if overlap is not None}
    totals = {"symmetric relations": len(dataset.relations)}
    tallies = [Tally(kind, len(findings), totals.get(kind)) for kind, findings in listed.items()]
    return Found(tallies, [finding for findings in listed.values() for finding in findings])


def _listed(kind: str, dataset: Dataset, overlaps: Overlaps) -> list[Finding]:
    """List each pair of relations once, with the share of its pairs in the larger one (inverse rules: the smaller)."""
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

    P_r are its pairs over all splits, S_r its distinct heads and O_r its distinct tails (Akrami et al., 2020);
    ``pairs`` (int64[relation]) has the sizes of P_r. The ids of the relations found are ascending.
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


def leaks_of(related: RelatedRelations, triples: Triples, *, later: bool = False) -> dict[str, BoolArray]:
    """Find the triples that train gives away: bool[triple] for each way in ``WAYS`` that was searched for.

    If all are ``later`` than train, as in forecasting, none are given away.

    ``repeated``: train has the triple itself. ``reverse``: it has (t, r′, h), where r′ is a reverse duplicate of r, or
    r itself if r is symmetric. ``duplicate``: it has (h, r′, t), where r′ is a near-duplicate of r. ``inverse``: it has
    (t, r′, h), where r and r′ are partners of an inverse rule. A triple may be given away in several ways.
    """
    train = related.train
    if train is None:
        return {}
    leaks = {"repeated": train.holds(triples)}
    for way, partners in (("reverse", related.reverses), ("duplicate", related.duplicates), ("inverse", related.rules)):
        if partners is not None:
            leaks[way] = train.partnered(triples, partners, turned=way != "duplicate")
    return {way: np.zeros_like(leaked) for way, leaked in leaks.items()} if later else leaks


def flags_of(dataset: Dataset, split: str, related: RelatedRelations, cartesian: IntArray) -> dict[str, BoolArray]:
    """Flag the triples of a split by kind; bool[triple] each."""
    triples = dataset.split(split)
    known, used = (np.zeros(len(part), np.bool_) for part in (dataset.entities, dataset.relations))
    known[dataset.train.heads] = known[dataset.train.tails] = used[dataset.train.relations] = True
    later = is_later(triples, dataset.train)
    flags = leaks_of(related, triples, later=later)
    if later and related.train is not None:
        flags["returning"] = related.train.holds(triples)
    if {*flags} >= {*WAYS}:
        flags["leaked"] = np.any([flags[way] for way in WAYS], axis=0)
    if related.train is not None:
        flags["Cartesian"] = np.isin(triples.relations, cartesian)
    if split == "test" and len(dataset.valid):
        flags["in valid too"] = TripleIndex.of(dataset.valid).contains(triples)
    flags["unseen entity"] = ~(known[triples.heads] & known[triples.tails])
    flags["unseen relation"] = ~used[triples.relations]
    return flags


def overlaps_found(dataset: Dataset, split: str, other: Dataset) -> list[Found]:
    """Count the triples of a split that each part (split) of another graph has, and list them by relation.

    A triple counts under the first of ``OVERLAP_WAYS`` that holds in any part, and in the first such part.
    """
    parts = in_ids_of(dataset, other)
    first = first_overlaps(dataset.split(split), parts.values())
    flags: dict[str, dict[str, BoolArray]] = {part: {} for part in parts}
    for code, (way, part) in enumerate(product(OVERLAP_WAYS, parts)):
        flags[part][way] = first == code
    return [leaked_found(dataset, split, of_part, f"{other.name} {part}") for part, of_part in flags.items()]


def leaked_found(dataset: Dataset, split: str, flags: Mapping[str, BoolArray], partner: str | None = None) -> Found:
    """Count the flagged triples of a split, and list them by relation, the largest first, each with an example."""
    triples, relations = dataset.split(split), len(dataset.relations)
    totals, findings = np.bincount(triples.relations, minlength=relations), []
    for kind, flagged in flags.items():
        rows = np.flatnonzero(flagged)
        flagged_relations, first, counts = np.unique(triples.relations[rows], return_index=True, return_counts=True)
        for relation, row, count in zip(flagged_relations.tolist(), rows[first].tolist(), counts.tolist(), strict=True):
            example, total = dataset.triple(*triples.ids[row].tolist()), int(totals[relation])
            findings.append(Finding(kind, dataset.relations[relation], partner, split, count, total, example))
    tallies = [Tally(kind, int(flagged.sum()), len(triples), split, partner) for kind, flagged in flags.items()]
    return Found(tallies, sorted(findings, key=lambda finding: -finding.count))


def degrees_found(dataset: Dataset) -> Found:
    """Find the triples at hubs and the greatest hubs, entities that appear once, and rarely tested relations."""
    rare, size = _rarely_tested(dataset) if len(dataset.test) else [], len(dataset.entities)
    # Count how often each entity stands in the triples of all splits, twice in a loop.
    ends = [column for part in dataset.splits.values() for column in (part.heads, part.tails)]
    degrees = np.bincount(np.concatenate([np.empty(0, np.int64), *ends]), minlength=size)
    hubs = np.argsort(-degrees, kind="stable")[: math.ceil(HUBS * np.count_nonzero(degrees))]
    triples = sum(len(part) for part in dataset.splits.values())
    listed = [
        Finding("triples at hubs", dataset.entities[hub], None, None, _triples_of(np.array([hub]), dataset), triples)
        for hub in hubs[:SHOWN].tolist()
    ]
    tallies = [
        Tally("triples at hubs", _triples_of(hubs, dataset), triples),
        Tally("entities that appear once", int((degrees == 1).sum()), len(degrees)),
    ]
    if len(dataset.test):
        tallies.append(Tally("relations with few test triples", len(rare), len(dataset.relations)))
    return Found(tallies, [*listed, *rare])


def _triples_of(entities: IntArray, dataset: Dataset) -> int:
    """Count the triples of all splits that contain one of the entities."""
    there = np.zeros(len(dataset.entities), np.bool_)
    there[entities] = True
    return sum(int((there[part.heads] | there[part.tails]).sum()) for part in dataset.splits.values())


def _rarely_tested(dataset: Dataset) -> list[Finding]:
    """List the relations with fewer than ten test triples, the fewest first."""
    tested = np.bincount(dataset.test.relations, minlength=len(dataset.relations))
    order = np.argsort(tested, kind="stable")
    kind, few = "relations with few test triples", order[tested[order] < FEW].tolist()
    labels, size = dataset.relations, len(dataset.test)
    return [Finding(kind, labels[row], None, "test", int(tested[row]), size) for row in few]


def twins_found(vocabulary: Vocabulary) -> Found:
    """Find groups of labels that are the same text once Unicode form, white space and case are set aside.

    Each group is listed by its first two labels, the largest first, with the last way to differ that was set aside.
    """
    kind, size = f"{vocabulary.kind} label twins", len(vocabulary)
    texts = _without_ways_apart(vocabulary.labels)
    codes = [np.asarray(pc.dictionary_encode(text).indices).astype(np.int64) for text in texts]
    last = codes[-1]
    ids = np.flatnonzero(np.bincount(last)[last] > 1)
    ids = ids[np.argsort(last[ids], kind="stable")]
    starts, findings = starts_of_runs(last[ids]), []
    if len(ids):
        # Find the first way after which all labels of a group are one text.
        united = [np.maximum.reduceat(code[ids], starts) == np.minimum.reduceat(code[ids], starts) for code in codes]
        ways, sizes = np.argmax(united, axis=0), np.diff(starts, append=len(ids))
        for start, count, way in zip(starts.tolist(), sizes.tolist(), ways.tolist(), strict=True):
            first, second = (vocabulary[index] for index in ids[start : start + 2])
            findings.append(Finding(kind, first, second, None, count, size, WAYS_APART[way]))
    return Found([Tally(kind, len(ids), size)], sorted(findings, key=lambda finding: -finding.count))


def _without_ways_apart(labels: pa.Array) -> Iterator[pa.Array]:
    """Yield all labels in one Unicode form, then with plain white space too, then in lower case too."""
    labels = pc.utf8_normalize(labels, form="NFC")
    yield labels
    labels = pc.utf8_trim_whitespace(pc.replace_substring_regex(labels, WHITE_SPACE, " "))
    yield labels
    yield pc.utf8_normalize(pc.utf8_lower(labels), form="NFC")
