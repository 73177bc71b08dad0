"""AConEx: ComplEx, with the vectors of a convolution over head and relation added to its products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.families.networks.conex import ConEx
from kgeval.scorers.numerics.ordered import dot_rows


@dataclass(frozen=True, eq=False)
class AConEx(ConEx):
    """score(h, r, t) = Re Σ (h ∘ r + a − d + i (b + c)) ∘ conj(t), with [a | b | c | d] made as ConEx makes its halves.

    Scored triple by triple, dice-embeddings adds Σ (a + b + c − d) to ComplEx instead, which moves heads alone.
    The layers are those of ConEx (Demir and Ngonga Ngomo, 2021); the additive form is of dice-embeddings.
    """

    name: ClassVar[str] = "AConEx"
    formula: ClassVar[str] = (
        "Re Σ (h r + a − d + i (b + c)) conj(t), [a | b | c | d] = relu(relu([h; r] * K + c) D + e)"
    )
    halves: ClassVar[int] = 4

    by_triple: bool
    """whether the network adds to the score, not to the vectors"""

    def network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        """Multiply heads and relations, and add what the network made."""
        head, relation = self.parts(heads, relations)
        real = head[0] * relation[0] - head[1] * relation[1]
        imaginary = head[0] * relation[1] + head[1] * relation[0]
        if not self.by_triple:
            a, b, c, d = self.outputs(heads, relations)
            real, imaginary = real + (a - d), imaginary + (b + c)
        return np.concatenate([real, imaginary], axis=1)

    def query_offsets(self, queries: Queries) -> Float64Array:
        """Return what the network adds to all tails of a query."""
        if queries.side == "head" or not self.by_triple:
            return np.zeros(len(queries))
        return self._sums(queries.anchors, queries.relations)

    def candidate_biases(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        """Return what the network adds to each head."""
        if side == "tail" or not self.by_triple:
            return np.zeros(len(ids))
        return self._sums(ids, np.full(len(ids), relation))

    def _sums(self, heads: IntArray, relations: IntArray) -> Float64Array:
        """Sum a + b + c − d of each pair of head and relation; float64[pair]."""
        a, b, c, d = self.outputs(heads, relations)
        return dot_rows(a + b + (c - d), np.ones_like(a))
