"""One scorer for tails and another for heads: where only one side of a model is a similarity of vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kgeval.data.queries import Queries
from kgeval.scorers.scorer import PartitionedScorer, QueryPartition, Scorer, VectorScorer, views_of


@dataclass(frozen=True, eq=False)
class PerSideScorer(PartitionedScorer):
    """Two scorers of one model, one for each side."""

    tail: Scorer | VectorScorer
    head: Scorer | VectorScorer

    @property
    def num_entities(self) -> int:
        """How many entities both know."""
        return self.tail.num_entities

    @property
    def num_relations(self) -> int:
        """How many relations both know."""
        return self.tail.num_relations

    def views(self, queries: Queries) -> Iterator[QueryPartition]:
        """Return the views of the side's scorer."""
        return views_of(self.tail if queries.side == "tail" else self.head, queries)
