"""Popularity-weighted negatives: entities drawn in proportion to their train triples on the predicted side."""

from __future__ import annotations

from typing import Literal

import numpy as np

from kgeval.arrays import IntArray
from kgeval.corruption.sampled import Sampled
from kgeval.data.dataset import Dataset, Split
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows
from kgeval.data.triples import SIDES, Side


class PopularityWeighted(Sampled):
    """Corrupt a triple with ``count`` entities, drawn by how many train triples have them on the predicted side.

    Entities are drawn one after the other without replacement, each with a probability proportional to its number of
    train triples among those that are left. One that train never has on that side is never drawn.

    >>> PopularityWeighted(count=500)
    PopularityWeighted(kind='popular', count=500, seed=0, allow_known=False)
    """

    kind: Literal["popular"] = "popular"
    """entities drawn by how often train has them on the predicted side"""

    @property
    def learns_from(self) -> tuple[Split, ...]:
        """Train, whose triples are counted."""
        return ("train",)

    def read(self, dataset: Dataset) -> dict[Side, IntArray]:
        """Count each entity's train triples by side, once per dataset: side -> int64[entity].

        They are kept, and :meth:`content` returns them.
        """
        answers = {side: dataset.train.queries_of_side(side).answers for side in SIDES}
        return {side: np.bincount(answers[side], minlength=len(dataset.entities)) for side in SIDES}

    def _draw(self, queries: Queries, avoid: Rows, key: tuple[int, int], dataset: Dataset) -> Rows:
        from kgeval.corruption.sampling.weighted_draw import draw_weighted

        return draw_weighted(
            self.count, self.content(dataset)[queries.side], avoid, key, queries.anchors, queries.relations
        )
