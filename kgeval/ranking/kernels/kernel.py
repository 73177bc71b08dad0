"""The kernel interface: score pairs, count the candidates above each answer and its ties, and select the best."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.rows import Rows
from kgeval.ranking.kernels.collectors import BestAnswers, CountAccumulator
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors


class Kernel(Protocol):
    """One way of computing canonical scores and counting them."""

    name: str

    def stats(self) -> dict[str, Any]:
        """Say how the counts were made, for the manifest of a run."""
        return {"kernel": self.name}

    def pairs(self, queries: QueryVectors, entities: EntityVectors, offsets: IntArray) -> Float64Array:
        """Score ``entities[offsets[q] : offsets[q + 1]]`` canonically against query ``q``; float64[entity]."""

    def count_shared(
        self, queries: QueryVectors, entities: EntityVectors, first: int, accumulator: CountAccumulator
    ) -> None:
        """Count a chunk of shared candidates, the first of which has position ``first``, into the accumulator."""

    def count_per_query(
        self, queries: QueryVectors, entities: EntityVectors, own: Rows, accumulator: CountAccumulator
    ) -> None:
        """Count each query's own candidates, a row of indices into ``entities``, into the accumulator."""

    def count_scores(self, scores: Float64Array, starts: IntArray, accumulator: CountAccumulator) -> None:
        """Count finished scores into the accumulator; those of query ``q`` begin at ``starts[q]``."""

    def select_shared(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        """Merge a chunk of shared candidates, the first of which has position ``first``, into the best answers."""

    def select_scores(self, scores: Float64Array, best: BestAnswers) -> None:
        """Merge finished scores of all shared candidates, float64[query, candidate], into the best answers."""


@runtime_checkable
class TensorKernel(Kernel, Protocol):
    """A kernel that counts and selects on a device of torch."""

    device: Any
    """the ``torch.device``"""

    def count_tensor(self, scores: Any, accumulator: CountAccumulator) -> None:
        """Count finished scores, a tensor [query, candidate or more], into the accumulator, where they are."""

    def select_tensor(self, scores: Any, best: BestAnswers) -> None:
        """Merge finished scores, a tensor [query, candidate], into the best answers; few of them are copied."""
