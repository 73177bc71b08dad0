"""Sampled corruptions: a number of candidates for each query, drawn uniformly or by frequency in train."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from kgeval.arrays import IntArray
from kgeval.corruption.candidates import Candidates
from kgeval.corruption.generator import CorruptionGenerator
from kgeval.data.dataset import Dataset, Split
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows
from kgeval.data.triples import SIDES, Side


class Sampled(CorruptionGenerator):
    """Corrupts a triple with ``count`` entities, drawn without replacement.

    The draw depends on (seed, side, anchor, relation) and the known answers it avoids, so batches, shards and the
    order of the triples change nothing, and two models get the same negatives. All answers of a query get the same
    entities. A query with fewer than ``count`` entities left gets those that are left, and the result says how many
    queries that were.

    Sampled metrics are not estimates of full ones: they depend on ``count`` (Krichene and Rendle, 2020).
    """

    count: int = Field(ge=1, lt=2**63)
    """entities per query"""
    seed: int = Field(0, ge=0, lt=2**63)
    """the seed of the draw"""
    allow_known: bool = False
    """whether known answers may be drawn too (the filter still takes them out of the filtered ranks)"""

    @property
    def allows_known(self) -> bool:  # type: ignore[override]
        return self.allow_known

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        # Numba is loaded when something is drawn, not before.
        from kgeval.corruption.draws import draw, draw_weighted

        avoid = Rows.sized(np.zeros(len(queries), np.int64), known.ids[:0]) if self.allow_known else known
        weights = self.content(dataset)
        places = avoid, (self.seed, SIDES.index(queries.side)), queries.anchors, queries.relations
        if weights is None:
            rows = draw(self.count, len(dataset.entities), *places)
        else:
            rows = draw_weighted(self.count, weights[queries.side], *places)
        return Candidates(rows, self.shortage(queries.side, rows.lengths))

    def widths(self, queries: Queries, dataset: Dataset) -> IntArray:
        return np.full(len(queries), min(self.count, len(dataset.entities)))

    def shortage(self, side: Side, sizes: IntArray) -> tuple[str, ...]:
        """Note how many queries got fewer entities than ``count``."""
        short = int((sizes < self.count).sum())
        note = f"{short} {side} queries have fewer than {self.count} entities left to draw; they got all of those."
        return (note,) if short else ()

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        known = ", known answers too" if self.allow_known else ""
        return f"{self.count:,} {self.kind} (seed {self.seed}{known})"


class Uniform(Sampled):
    """Corrupt a triple with ``count`` entities, each as likely as the others, drawn without replacement.

    >>> Uniform(count=500)
    Uniform(kind='uniform', count=500, seed=0, allow_known=False)
    """

    kind: Literal["uniform"] = "uniform"
    """entities drawn at random"""


class _Weighted(Sampled):
    """Draws by weights: :meth:`read` returns those of each side, int64[entity]."""

    @property
    def learns_from(self) -> tuple[Split, ...]:
        return ("train",)


class DegreeWeighted(_Weighted):
    """Corrupt a triple with ``count`` entities, drawn by how often train triples have them as head or tail.

    Entities are drawn one after the other without replacement, each with a probability proportional to its degree
    among those that are left. A loop counts twice; one that train does not have is never drawn.

    >>> DegreeWeighted(count=500)
    DegreeWeighted(kind='degree', count=500, seed=0, allow_known=False)
    """

    kind: Literal["degree"] = "degree"
    """entities drawn by how often train has them, as head or tail"""

    def read(self, dataset: Dataset) -> dict[Side, IntArray]:
        degrees = np.bincount(dataset.train.ids[:, [0, 2]].ravel(), minlength=len(dataset.entities))
        return dict.fromkeys(SIDES, degrees)


class PopularityWeighted(_Weighted):
    """Corrupt a triple with ``count`` entities, drawn by how many train triples have them on the predicted side.

    Entities are drawn one after the other without replacement, each with a probability proportional to its number of
    train triples among those that are left. One that train never has on that side is never drawn.

    >>> PopularityWeighted(count=500)
    PopularityWeighted(kind='popular', count=500, seed=0, allow_known=False)
    """

    kind: Literal["popular"] = "popular"
    """entities drawn by how often train has them on the predicted side"""

    def read(self, dataset: Dataset) -> dict[Side, IntArray]:
        answers = {side: dataset.train.queries_of_side(side).answers for side in SIDES}
        return {side: np.bincount(answers[side], minlength=len(dataset.entities)) for side in SIDES}
