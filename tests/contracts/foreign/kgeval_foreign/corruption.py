"""A corruption: entities whose ids are as even or odd as the anchor's."""

from typing import Literal

from kgeval.base.arrays import IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries, Rows
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.corruption.generator import CorruptionGenerator


class SameParity(CorruptionGenerator):
    """Corrupt a triple with the entities whose ids are even where the anchor's is, or else odd."""

    kind: Literal["same-parity"] = "same-parity"
    """entities whose ids are even or odd as the anchor's"""
    offset: int = 0
    """what is added to the anchor's id before"""

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        """Choose every second entity."""
        size = len(dataset.entities)
        return Candidates(Rows.of(range((anchor + self.offset) % 2, size, 2) for anchor in queries.anchors))

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        """Say which they are."""
        return "every second entity"
