"""Sampled by degree: with a probability proportional to an entity's train triples on both sides."""

from __future__ import annotations

from typing import Literal

import numpy as np

from kgeval.arrays import IntArray
from kgeval.corruption.sampled import Sampled
from kgeval.data.dataset import Dataset, Split
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows


class DegreeWeighted(Sampled):
    """Corrupt a triple with ``count`` entities, drawn by how often train triples have them as head or tail.

    Entities are drawn one after the other without replacement, each with a probability proportional to its degree
    among those that are left. A loop counts twice; one that train does not have is never drawn.

    >>> DegreeWeighted(count=500)
    DegreeWeighted(kind='degree', count=500, seed=0, allow_known=False)
    """

    kind: Literal["degree"] = "degree"
    """entities drawn by how often train has them, as head or tail"""

    @property
    def learns_from(self) -> tuple[Split, ...]:
        """Train, whose triples are counted."""
        return ("train",)

    def read(self, dataset: Dataset) -> IntArray:
        """Count the degree of each entity; int64[entity]."""
        return np.bincount(dataset.train.ids[:, [0, 2]].ravel(), minlength=len(dataset.entities))

    def _draw(self, queries: Queries, avoid: Rows, key: tuple[int, int], dataset: Dataset) -> Rows:
        from kgeval.corruption.sampling.weighted_draw import draw_weighted

        return draw_weighted(self.count, self.content(dataset), avoid, key, queries.anchors, queries.relations)
