"""Every entity competes: full ranking, the protocol of Bordes et al. (2013)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from kgeval.arrays import IntArray
from kgeval.corruption.candidates import SharedCandidates
from kgeval.corruption.generator import CorruptionGenerator
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows


class AllEntities(CorruptionGenerator):
    """Corrupt a triple with every entity of the graph.

    Written down as negatives and read back (``{kind: file}``), they give the same filtered ranks. The raw ranks are
    others: known answers are no negatives, and are not written.

    >>> AllEntities()
    AllEntities(kind='all')
    """

    kind: Literal["all"] = "all"
    """every entity of the graph"""

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> SharedCandidates:
        """Choose all entities, whatever the query."""
        return SharedCandidates(np.arange(len(dataset.entities)))

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        """Say that all entities compete, and how many those are."""
        return f"all {len(dataset.entities):,} entities"
