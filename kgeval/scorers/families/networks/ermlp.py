"""ERMLP: a hidden layer over head, relation and tail, and a score of it (Dong et al., 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.block import ScoredFamily
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.activations import ACTIVATIONS, Activation
from kgeval.scorers.numerics.ordered import matmul_ordered, weighted_sum


@dataclass(frozen=True, eq=False)
class ERMLP(ScoredFamily):
    """score(h, r, t) = f(h A_h + r A_r + t A_t + a) · w + b.

    Dong et al.: Knowledge Vault: A Web-Scale Approach to Probabilistic Knowledge Fusion, KDD 2014.
    """

    name: ClassVar[str] = "ERMLP"
    formula: ClassVar[str] = "f([h | r | t] A + a) · w + b"
    by_dimension: ClassVar[bool] = True

    hidden: FloatArray
    """float[2 × entity width + relation width, hidden width], A: A_h, A_r, A_t one on the other"""
    hidden_bias: FloatArray
    """float[hidden width], a"""
    output: FloatArray
    """float[hidden width], w"""
    output_bias: FloatArray
    """float[1], b"""
    activation: Activation
    """the function f"""

    def __post_init__(self) -> None:
        super().__post_init__()
        rows, inner = 2 * self.entity.shape[1] + self.relation.shape[1], self.output.shape
        fits = len(inner) == 1 and self.hidden.shape == (rows, *inner) and self.hidden_bias.shape == inner
        self.require(
            fits and self.output_bias.shape == (1,), "hidden and output must lead from [h | r | t] to one number"
        )

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return what anchor and relation give to the hidden layer."""
        entity, relation = rows64(self.entity, queries.anchors), rows64(self.relation, queries.relations)
        hidden = matmul_ordered(entity, self._weights("head" if queries.side == "tail" else "tail"))
        inner = slice(self.entity.shape[1], self.entity.shape[1] + self.relation.shape[1])
        weights = np.asarray(self.hidden[inner], np.float64)
        return hidden + matmul_ordered(relation, weights) + np.asarray(self.hidden_bias, np.float64)

    def candidate_vectors(self, side: Side, ids: IntArray) -> Float64Array:
        """Return what entities give to the hidden layer."""
        return matmul_ordered(rows64(self.entity, ids), self._weights(side))

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        """Pass the hidden layer to the score."""
        # Numba is loaded when something is scored, not before.
        from kgeval.scorers.numerics.relu_kernel import sum_units

        weights, bias = np.asarray(self.output, np.float64), np.float64(self.output_bias[0])
        if self.activation != "relu":
            act = ACTIVATIONS[self.activation]
            return np.stack([weighted_sum(weights, act(query[:, None] + candidates)) for query in queries]) + bias
        scores = np.empty((len(queries), candidates.shape[1]))
        sum_units(queries, candidates, weights, scores)
        return scores + bias

    def _weights(self, side: Side) -> Float64Array:
        width = self.entity.shape[1]
        return np.asarray(self.hidden[:width] if side == "head" else self.hidden[-width:], np.float64)
