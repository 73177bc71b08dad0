"""The labelled triples of a split: its own, then negatives from files, from a corruption or from the dataset itself.

The tasks (``kgeval.classify``, confidences) call ``labelled_split`` and score the triples that it returns. A source of
negatives is a settings class: ``triples`` gives the negatives of a split, ``describe`` says where they come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from pydantic import Discriminator, Tag

from kgeval.base.arrays import BoolArray
from kgeval.base.errors import InputError
from kgeval.base.notes import Example, Note
from kgeval.base.settings import Settings
from kgeval.data.dataset import Dataset
from kgeval.data.known import known_answers
from kgeval.data.labelled_triples import read_negatives, read_triple_ids
from kgeval.data.provenance import percent
from kgeval.data.tables import NamedTable
from kgeval.data.triples import LabelledTriples, TripleIndex, Triples
from kgeval.ranking.corruption import Uniform
from kgeval.ranking.corruption.export import generate_negatives
from kgeval.ranking.corruption.generator import Corruption
from kgeval.ranking.evaluation import EntitySides


def labelled_split(
    dataset: Dataset, split: str, source: NegativesFromFiles | GeneratedNegatives | None
) -> LabelledSplit:
    """Concatenate the triples of a split and their negatives, whose label is 0.

    The label of the split's own triples is their confidence in a weighted graph, and 1 in any other. Without a source,
    the negatives are the triples that the dataset calls false.
    """
    triples = dataset.split(split)
    labelled = dataset.confidences.get(split, LabelledTriples(triples, np.ones(len(triples))))
    false = dataset.negatives.get(split, Triples.of([])) if source is None else source.triples(dataset, split)
    rows = LabelledTriples(
        Triples(np.concatenate([labelled.triples.ids, false.ids])),
        np.concatenate([labelled.labels, np.zeros(len(false))]),
    )
    is_positive = np.arange(len(rows)) < len(labelled)
    facts = Triples(np.concatenate([part.ids for part in dataset.splits.values()]))
    return LabelledSplit(rows, is_positive, is_positive | TripleIndex.of(facts).contains(rows.triples))


@dataclass(frozen=True, eq=False)
class LabelledSplit:
    """The labelled triples of one split: its own triples, then negatives of them."""

    rows: LabelledTriples
    is_positive: BoolArray
    """bool[triple], whether the triple is one of the split's own"""
    known: BoolArray
    """bool[triple], whether any split contains the triple"""


def notes_on_negatives(dataset: Dataset, split: str, part: LabelledSplit) -> list[str]:
    """Count the negatives that some split contains as a fact."""
    negatives = ~part.is_positive
    facts = part.rows.triples.ids[negatives & part.known]
    if not len(facts):
        return []
    share = f"{len(facts):,} of {negatives.sum():,} {split} negatives ({percent(len(facts) / negatives.sum())})"
    fact = f"{share} {'is a known fact' if len(facts) == 1 else 'are known facts'}"
    return [Note("negatives", fact, Example(f": {dataset.examples(facts)}"), ".")]


class NegativesFromFiles(Settings):
    """False triples in files, one file for each split that has some.

    Each is a TSV, CSV or Parquet file of head, relation and tail. With a fourth column, a confidence, it may contain
    true triples too, which are left out.

    >>> NegativesFromFiles(valid="valid_negatives.txt", test="test_negatives.txt")
    NegativesFromFiles(kind='files', valid='valid_negatives.txt', test='test_negatives.txt')
    """

    kind: Literal["files"] = "files"
    """negatives from files"""
    valid: str | None = None
    """the negatives of the validation split"""
    test: str | None = None
    """the negatives of the test split"""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read."""
        return tuple(Path(path) for path in (self.valid, self.test) if path is not None)

    def triples(self, dataset: Dataset, split: str) -> Triples:
        """Read the negatives of a split; there are none where no file is set."""
        path = {"valid": self.valid, "test": self.test}.get(split)
        return Triples.of([]) if path is None else read_negatives(Path(path), dataset.entities, dataset.relations)

    def describe(self, dataset: Dataset) -> str:
        """Say which file the test negatives are from."""
        return "of no file" if self.test is None else f"of file {Path(self.test).name}"


class GeneratedNegatives(Settings):
    """Triples that a corruption generates from those of the split, by default one for every tail.

    >>> GeneratedNegatives(corruption=Uniform(count=1, seed=7)).sides
    ('tail',)
    """

    kind: Literal["generated"] = "generated"
    """negatives that a corruption generates"""
    corruption: Corruption = Uniform(count=1, seed=0)
    """what replaces the head or tail; triples with the same query share their negatives"""
    sides: EntitySides = ("tail",)
    """which side is replaced"""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the corruption reads."""
        return self.corruption.files

    def triples(self, dataset: Dataset, split: str) -> Triples:
        """Generate the negatives of a split."""
        table = pa.concat_tables(generate_negatives(dataset, self.corruption, split=split, sides=self.sides))
        if table.num_rows == 0:
            raise InputError(f"{self.corruption.kind} corruption generates no negatives for the {split} triples.")
        return read_triple_ids(NamedTable(split, table), dataset.entities, dataset.relations)

    def describe(self, dataset: Dataset) -> str:
        """Say which candidates replace which side."""
        queries = [self.corruption.queries(dataset.split("test"), side) for side in self.sides]
        sizes = [
            self.corruption.candidates(part, known_answers(part, []), dataset).num_candidates(len(part))
            for part in queries
        ]
        candidates = self.corruption.describe(dataset, np.concatenate(sizes))
        return f"generated: {candidates} in place of each {' and '.join(self.sides)}"


def _kind_of_source(value: object) -> str:
    """Return the kind of a block; one without the key ``kind`` is recognised by its other keys."""
    if not isinstance(value, dict):
        return str(getattr(value, "kind", "files"))
    return str(value.get("kind", "generated" if {"corruption", "sides"} & value.keys() else "files"))


Negatives = Annotated[
    Annotated[NegativesFromFiles, Tag("files")] | Annotated[GeneratedNegatives, Tag("generated")],
    Discriminator(_kind_of_source),
]
"""Any source of negatives, distinguished by its ``kind``, or by the other keys where there is none."""
