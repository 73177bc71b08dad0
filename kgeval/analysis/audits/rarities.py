"""Rare and doubled: entities that much of a graph hangs on, and labels that differ only by their form."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.analysis.audits.finding import Finding, Found, Tally
from kgeval.arrays import IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.queries import starts_of_runs
from kgeval.data.vocabulary import Vocabulary

HUBS = 0.01
"""the share of the entities that are hubs: of those that appear, rounded up"""

FEW = 10
"""the number of test triples from which on a relation has enough of them"""

SHOWN = 10
"""how many hubs are findings of their own"""


def degrees_found(dataset: Dataset) -> Found:
    """Find the triples at hubs and the greatest of these, entities that appear once, and rarely tested relations."""
    rare, size = _rarely_tested(dataset), len(dataset.entities)
    # The places of each entity in the triples of all splits: two of them in a loop.
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
    there = np.zeros(len(dataset.entities), np.bool_)
    there[entities] = True
    return sum(int((there[part.heads] | there[part.tails]).sum()) for part in dataset.splits.values())


def _rarely_tested(dataset: Dataset) -> list[Finding]:
    """List the relations with fewer than ten test triples, the fewest first; none where there is no test split."""
    if not len(dataset.test):
        return []
    tested = np.bincount(dataset.test.relations, minlength=len(dataset.relations))
    order = np.argsort(tested, kind="stable")
    return [
        Finding(
            "relations with few test triples", dataset.relations[row], None, "test", int(tested[row]), len(dataset.test)
        )
        for row in order[tested[order] < FEW].tolist()
    ]


WAYS_APART = ("Unicode form", "white space", "case")
"""in the order in which they are set aside"""

WHITE_SPACE = r"[\s\p{Z}\x{0B}\x{85}]+"


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
        # A group is united from the first way on after which all of it is one text.
        united = [np.maximum.reduceat(code[ids], starts) == np.minimum.reduceat(code[ids], starts) for code in codes]
        ways, sizes = np.argmax(united, axis=0), np.diff(starts, append=len(ids))
        for start, count, way in zip(starts.tolist(), sizes.tolist(), ways.tolist(), strict=True):
            first, second = (vocabulary[index] for index in ids[start : start + 2])
            findings.append(Finding(kind, first, second, None, count, size, WAYS_APART[way]))
    return Found([Tally(kind, len(ids), size)], sorted(findings, key=lambda finding: -finding.count))


def _without_ways_apart(labels: pa.Array) -> Iterator[pa.Array]:
    """Yield the labels in one Unicode form, then with plain white space too, then in lower case too."""
    labels = pc.utf8_normalize(labels, form="NFC")
    yield labels
    labels = pc.utf8_trim_whitespace(pc.replace_substring_regex(labels, WHITE_SPACE, " "))
    yield labels
    yield pc.utf8_normalize(pc.utf8_lower(labels), form="NFC")
