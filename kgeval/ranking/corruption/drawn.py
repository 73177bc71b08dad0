"""Candidates that are drawn: a given number of entities for each query, uniformly or by frequency in train.

Each class is a corruption: a configuration names it by its ``kind``, and ranking asks it for the candidates of queries.
To add a way to draw, add a subclass of ``Sampled`` whose ``read`` returns the weights of entities.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from kgeval.base.arrays import IntArray
from kgeval.base.notes import Note, amount
from kgeval.data.dataset import Dataset, Split
from kgeval.data.queries import Queries, Rows
from kgeval.data.triples import SIDES, Side
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.corruption.generator import CorruptionGenerator


class Sampled(CorruptionGenerator):
    """A given number of entities (count), drawn without replacement.

    The draw depends on the seed, side, anchor, relation and the known answers that it avoids. So batches, shards and
    the order of triples change nothing, and all models get the same negatives. All answers of a query get the same
    entities. If a query has fewer than ``count`` possible entities, it gets all of them, and a note says so.

    Sampled metrics are not estimates of full ones: they depend on ``count`` (Krichene and Rendle, 2020).
    """

    count: int = Field(ge=1, lt=2**63)
    """entities per query"""
    seed: int = Field(default=0, ge=0, lt=2**63)
    """the seed of the draw"""
    allow_known: bool = False
    """whether known answers may be drawn too (the filter still removes them from filtered ranks)"""

    leaves_out_answers: ClassVar[bool] = True

    @property
    def allows_known(self) -> bool:  # type: ignore[override]
        return self.allow_known

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        # Numba is loaded when something is drawn, not before.
        from kgeval.ranking.corruption.keyed_draws import draw, draw_weighted

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
        few = f" with fewer than {self.count:,} possible negatives; all of these were used."
        return (Note("candidates", amount(short, f"{side} query"), few),) if short else ()

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        known = ", known answers too" if self.allow_known else ""
        return f"{self.count:,} {self.kind} (seed {self.seed}{known})"


class Uniform(Sampled):
    """A given number of entities (count), drawn uniformly without replacement.

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
    """A given number of entities (count), drawn in proportion to their degree in train.

    Entities are drawn one after another without replacement. The probability of each is its degree, divided by the sum
    of degrees of the entities that are left. A loop counts twice. An entity that is not in train is never drawn.

    >>> DegreeWeighted(count=500)
    DegreeWeighted(kind='degree', count=500, seed=0, allow_known=False)
    """

    kind: Literal["degree"] = "degree"
    """entities drawn by how often train has them, as head or tail"""

    def read(self, dataset: Dataset) -> dict[Side, IntArray]:
        degrees = np.bincount(dataset.train.ids[:, [0, 2]].ravel(), minlength=len(dataset.entities))
        return dict.fromkeys(SIDES, degrees)


class PopularityWeighted(_Weighted):
    """A given number of entities (count), drawn by how often train has them on the predicted side.

    Entities are drawn one after another without replacement. The probability of each is its number of train triples on
    that side, divided by the sum for the entities that are left. An entity with none is never drawn.

    >>> PopularityWeighted(count=500)
    PopularityWeighted(kind='popular', count=500, seed=0, allow_known=False)
    """

    kind: Literal["popular"] = "popular"
    """entities drawn by how often train has them on the predicted side"""

    def read(self, dataset: Dataset) -> dict[Side, IntArray]:
        answers = {side: dataset.train.queries_of_side(side).answers for side in SIDES}
        return {side: np.bincount(answers[side], minlength=len(dataset.entities)) for side in SIDES}
