"""AutoSF: signed products of blocks of head, relation and tail, as a search has chosen them (Zhang et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.data.queries import Queries
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.numerics.similarity import Similarity


@dataclass(frozen=True, eq=False)
class AutoSF(VectorFamily):
    """score(h, r, t) = Σ s ⟨h_i, r_j, t_k⟩ over the coefficients (i, j, k, s), vectors stored block after block.

    Zhang, Yao, Dai and Chen: AutoSF: Searching Scoring Functions for Knowledge Graph Embedding, ICDE 2020.
    """

    name: ClassVar[str] = "AutoSF"
    formula: ClassVar[str] = "Σ s ⟨h_i, r_j, t_k⟩"
    similarity: ClassVar[Similarity] = "dot"

    coefficients: tuple[tuple[int, int, int, int], ...]
    """the blocks of head, relation and tail in each product, from 0, and its sign"""
    width: int
    """the width of a block"""

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = self.width > 0 and all(array.shape[1] % self.width == 0 for array in (self.entity, self.relation))
        self.require(whole, f"width {self.width} must divide the width of entity and relation")
        entities, relations = (array.shape[1] // self.width for array in (self.entity, self.relation))
        limits = (entities, relations, entities)
        found = all(0 <= at < size for product in self.coefficients for at, size in zip(product, limits, strict=False))
        self.require(bool(self.coefficients) and found, "every coefficient must name blocks that there are")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Multiply the blocks of anchor and relation, and add each product to the block that it meets."""
        anchors, relations = rows64(self.entity, queries.anchors), rows64(self.relation, queries.relations)
        vectors = np.zeros_like(anchors)
        for head, relation, tail, sign in self.coefficients:
            anchor, other = (head, tail) if queries.side == "tail" else (tail, head)
            vectors[:, self._block(other)] += (
                sign * anchors[:, self._block(anchor)] * relations[:, self._block(relation)]
            )
        return vectors

    def _block(self, number: int) -> slice:
        return slice(number * self.width, (number + 1) * self.width)
