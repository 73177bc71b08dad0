"""The labelled triples of a split: its own, and the negatives beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kgeval.arrays import BoolArray
from kgeval.data.dataset import Dataset
from kgeval.data.labelled_triples import LabelledTriples
from kgeval.data.lookup import TripleIndex
from kgeval.data.triples import Triples


class NegativeSource(Protocol):
    """Where negatives come from."""

    def triples(self, dataset: Dataset, split: str) -> Triples:
        """Give the negatives of a split."""
        ...


@dataclass(frozen=True, eq=False)
class LabelledSplit:
    """The labelled triples of one split: its own, and negatives of them."""

    rows: LabelledTriples
    is_positive: BoolArray
    """bool[triple], whether it is of the split"""
    known: BoolArray
    """bool[triple], whether any split holds it"""


def labelled(dataset: Dataset, split: str, source: NegativeSource | None) -> LabelledSplit:
    """Put the triples of a split together with their negatives, whose label is 0.

    The label of the split's own triples is their confidence in a weighted graph, and 1 in any other.
    """
    triples = dataset.split(split)
    own = dataset.confidences.get(split, LabelledTriples(triples, np.ones(len(triples))))
    false = source.triples(dataset, split) if source is not None else Triples.of([])
    rows = LabelledTriples(
        Triples(np.concatenate([own.triples.ids, false.ids])), np.concatenate([own.labels, np.zeros(len(false))])
    )
    given = np.arange(len(rows)) < len(own)
    facts = Triples(np.concatenate([part.ids for part in dataset.splits.values()]))
    return LabelledSplit(rows, given, given | TripleIndex.of(facts).contains(rows.triples))


def notes_on_negatives(dataset: Dataset, split: str, part: LabelledSplit) -> list[str]:
    """Say how many negatives are known facts, and name some."""
    false = ~part.is_positive
    wrong = np.flatnonzero(false & part.known)
    if not len(wrong):
        return []
    named = ", ".join(dataset.triple(*part.rows.triples.ids[row]) for row in wrong[:3])
    share = f"{len(wrong)} of the {int(false.sum())} {split} negatives ({len(wrong) / false.sum():.1%})"
    return [f"{share} are known facts of the graph: {named}{', …' if len(wrong) > 3 else ''}."]
