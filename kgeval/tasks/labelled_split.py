"""The labelled triples of a split: its own triples, and negatives of them."""

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
        """Return the negatives of a split."""
        ...


@dataclass(frozen=True, eq=False)
class LabelledSplit:
    """The labelled triples of one split: its own triples, then negatives of them."""

    rows: LabelledTriples
    is_positive: BoolArray
    """bool[triple], whether the triple is one of the split's own"""
    known: BoolArray
    """bool[triple], whether any split contains the triple"""


def labelled_split(dataset: Dataset, split: str, source: NegativeSource | None) -> LabelledSplit:
    """Concatenate the triples of a split and their negatives, whose label is 0.

    The label of the split's own triples is their confidence in a weighted graph, and 1 in any other.
    """
    triples = dataset.split(split)
    own = dataset.confidences.get(split, LabelledTriples(triples, np.ones(len(triples))))
    false = source.triples(dataset, split) if source is not None else Triples.of([])
    rows = LabelledTriples(
        Triples(np.concatenate([own.triples.ids, false.ids])), np.concatenate([own.labels, np.zeros(len(false))])
    )
    is_positive = np.arange(len(rows)) < len(own)
    facts = Triples(np.concatenate([part.ids for part in dataset.splits.values()]))
    return LabelledSplit(rows, is_positive, is_positive | TripleIndex.of(facts).contains(rows.triples))


def notes_on_negatives(dataset: Dataset, split: str, part: LabelledSplit) -> list[str]:
    """Say how many negatives are known facts, with examples."""
    negatives = ~part.is_positive
    facts = part.rows.triples.ids[negatives & part.known]
    if not len(facts):
        return []
    share = f"{len(facts)} of the {negatives.sum()} {split} negatives ({len(facts) / negatives.sum():.1%})"
    return [f"{share} are known facts of the graph: {dataset.examples(facts)}."]
