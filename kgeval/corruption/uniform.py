"""Sampled uniformly at random: a fixed number of candidates for each query."""

from __future__ import annotations

from typing import Literal

from kgeval.corruption.sampled import Sampled
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows


class Uniform(Sampled):
    """Corrupt a triple with ``count`` entities, each as likely as the others, drawn without replacement.

    >>> Uniform(count=500)
    Uniform(kind='uniform', count=500, seed=0, allow_known=False)
    """

    kind: Literal["uniform"] = "uniform"
    """entities drawn at random"""

    def _draw(self, queries: Queries, avoid: Rows, key: tuple[int, int], dataset: Dataset) -> Rows:
        from kgeval.corruption.sampling.uniform_draw import draw

        return draw(self.count, len(dataset.entities), avoid, key, queries.anchors, queries.relations)
