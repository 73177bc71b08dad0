"""All entities are candidates, or all relations: full ranking (Bordes et al., 2013)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from kgeval.arrays import IntArray
from kgeval.corruption.candidates import Candidates
from kgeval.corruption.generator import CorruptionGenerator
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows


class AllEntities(CorruptionGenerator):
    """Corrupt a triple with every entity of the graph; where its relation is predicted, with every relation.

    Exported as negatives and read back (``{kind: file}``), they give the same filtered ranks. The raw ranks differ:
    known answers are no negatives, and are not exported.

    >>> AllEntities()
    AllEntities(kind='all')
    """

    kind: Literal["all"] = "all"
    """every entity of the graph"""

    answers_relations: ClassVar[bool] = True

    def widths(self, queries: Queries, dataset: Dataset) -> IntArray:
        """Return that no query has candidates of its own."""
        return np.zeros(len(queries), np.int64)

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        """Choose all entities, or all relations, for each query."""
        return Candidates.shared(np.arange(len(dataset.answers_of(queries.side))))

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        """Describe the number of entities."""
        return f"all {len(dataset.entities):,} entities"
