"""Negatives: which triples are taken to be false, from files or made by a corruption generator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from pydantic import Discriminator, Field, Tag

from kgeval.corruption import AllEntities, Uniform
from kgeval.corruption.export import generate_negatives
from kgeval.data.dataset import Dataset
from kgeval.data.labelled_triples import read_negatives, read_triple_ids
from kgeval.data.triples import Triples
from kgeval.errors import InputError
from kgeval.ranking.evaluation import Sides
from kgeval.settings.settings import Settings


class NegativesFromFiles(Settings):
    """Triples that somebody found to be false: a file for each split that has some.

    Each is a TSV, CSV or Parquet file of head, relation and tail. With a fourth column, a confidence, it may hold true
    triples too, which are passed over.

    >>> NegativeFiles(valid="valid_negatives.txt", test="test_negatives.txt")
    NegativeFiles(kind='files', valid='valid_negatives.txt', test='test_negatives.txt')
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
        """Read the negatives of a split; none where no file is named."""
        path = {"valid": self.valid, "test": self.test}.get(split)
        return Triples.of([]) if path is None else read_negatives(Path(path), dataset.entities, dataset.relations)

    def describe(self, dataset: Dataset) -> str:
        """Say which file those of test are from."""
        return "of no file" if self.test is None else f"of file {Path(self.test).name}"


class GeneratedNegatives(Settings):
    """Triples that a corruption generator makes of those of the split, such as one in place of every tail.

    >>> MadeNegatives(corruption=Uniform(count=1, seed=7)).sides
    ('tail',)
    """

    kind: Literal["corruption"] = "corruption"
    """negatives that are made"""
    corruption: Annotated[AllEntities | Uniform, Field(discriminator="kind")] = Uniform(count=1, seed=0)
    """what the head or tail is replaced by; triples with the same query share their negatives"""
    sides: Sides = ("tail",)
    """which side is replaced"""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read: none."""
        return ()

    def triples(self, dataset: Dataset, split: str) -> Triples:
        """Make the negatives of a split."""
        tables = list(generate_negatives(dataset, self.corruption, split=split, sides=self.sides))
        table = pa.concat_tables(tables)
        if table.num_rows == 0:
            raise InputError(f"{self.corruption.kind} corruption makes no negatives of the {split} triples.")
        return read_triple_ids(Path(split), table, dataset.entities, dataset.relations)

    def describe(self, dataset: Dataset) -> str:
        """Say what takes the place of which side."""
        candidates = self.corruption.describe(dataset, np.array([len(dataset.entities)]))
        return f"made: {candidates} in place of each {' and '.join(self.sides)}"


def _kind(value: object) -> str:
    given = value.get("kind", "files") if isinstance(value, dict) else getattr(value, "kind", "files")
    return str(given)


Negatives = Annotated[
    Annotated[NegativesFromFiles, Tag("files")] | Annotated[GeneratedNegatives, Tag("corruption")], Discriminator(_kind)
]
"""Any source of negatives, told apart by its ``kind``: ``files`` where none is said."""
