"""Label twins: labels that differ only by Unicode form, white space or case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.analysis.audits.finding import Finding, Found, Tally
from kgeval.arrays import IntArray
from kgeval.data.queries import starts_of_runs
from kgeval.data.vocabulary import Vocabulary

WAYS_APART = ("Unicode form", "white space", "case")
"""in the order in which they are set aside"""

WHITE_SPACE = r"[\s\p{Z}\x{0B}\x{85}]+"


@dataclass(frozen=True, eq=False)
class LabelTwins:
    r"""Groups of labels that are the same text once Unicode form, white space and case are set aside.

    Examples
    --------
    >>> twins = LabelTwins.of(Vocabulary(["Zo\u00eb", "Rome", "Milan", "rome ", "Zoe\u0308"]))
    >>> twins.ids, twins.starts, [WAYS_APART[way] for way in twins.ways]
    (array([0, 4, 1, 3]), array([0, 2]), ['Unicode form', 'case'])
    """

    ids: IntArray
    """int64[twin], group by group"""
    starts: IntArray
    """int64[group], where each group starts"""
    ways: IntArray
    """int64[group], the last of ``WAYS_APART`` that had to be set aside"""

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> LabelTwins:
        """Set aside one way to differ after the other, and sort by what is left."""
        codes = [_numbered(labels) for labels in _without_ways_apart(vocabulary.labels)]
        last = codes[-1]
        ids = np.flatnonzero(np.bincount(last)[last] > 1)
        ids = ids[np.argsort(last[ids], kind="stable")]
        starts = starts_of_runs(last[ids])
        if not len(ids):
            return cls(ids, starts, starts)
        # A group is united from the first way on after which all of it is one text.
        united = [np.maximum.reduceat(code[ids], starts) == np.minimum.reduceat(code[ids], starts) for code in codes]
        return cls(ids, starts, np.argmax(united, axis=0))


def twins_found(vocabulary: Vocabulary) -> Found:
    """Count the labels that have a twin, and list each group of them by its first two, the largest first."""
    kind, twins = f"{vocabulary.kind} label twins", LabelTwins.of(vocabulary)
    sizes = np.diff(np.append(twins.starts, len(twins.ids)))
    findings = []
    for start, size, way in zip(twins.starts.tolist(), sizes.tolist(), twins.ways.tolist(), strict=True):
        first, second = (vocabulary[index] for index in twins.ids[start : start + 2])
        findings.append(Finding(kind, first, second, None, size, len(vocabulary), WAYS_APART[way]))
    tallies = [Tally(kind, len(twins.ids), len(vocabulary))]
    return Found(tallies, sorted(findings, key=lambda finding: -finding.count))


def _without_ways_apart(labels: pa.Array) -> Iterator[pa.Array]:
    """Yield the labels in one Unicode form, then with plain white space too, then in lower case too."""
    labels = pc.utf8_normalize(labels, form="NFC")
    yield labels
    labels = pc.utf8_trim_whitespace(pc.replace_substring_regex(labels, WHITE_SPACE, " "))
    yield labels
    yield pc.utf8_normalize(pc.utf8_lower(labels), form="NFC")


def _numbered(labels: pa.Array) -> IntArray:
    """Number texts by their first occurrence; int64[label]."""
    return np.asarray(pc.dictionary_encode(labels).indices).astype(np.int64)
