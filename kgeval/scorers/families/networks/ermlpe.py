"""ERMLPE: two layers make a vector of head and relation, which the tail is multiplied with (Sharifzadeh, 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.ordered import matmul_ordered
from kgeval.scorers.tail_network import TailNetwork


@dataclass(frozen=True, eq=False)
class ERMLPE(TailNetwork):
    """score(h, r, t) = relu(relu([h | r] A + a) B + b) · t.

    Batch normalisations are folded into A, a, B and b by the reader.
    Sharifzadeh, in PyKEEN (Ali et al.: Bringing Light Into the Dark, TPAMI 2021).
    """

    name: ClassVar[str] = "ERMLPE"
    formula: ClassVar[str] = "relu(relu([h | r] A + a) B + b) · t"

    hidden: FloatArray
    """float[entity width + relation width, hidden width], A"""
    hidden_bias: FloatArray
    """float[hidden width], a"""
    dense: FloatArray
    """float[hidden width, entity width], B"""
    dense_bias: FloatArray
    """float[entity width], b"""

    def __post_init__(self) -> None:
        super().__post_init__()
        width, inner = self.entity.shape[1], len(self.hidden_bias)
        fits = self.hidden.shape == (width + self.relation.shape[1], inner) and self.dense.shape == (inner, width)
        biases = self.hidden_bias.ndim == 1 and self.dense_bias.shape == (width,)
        self.require(fits and biases, "hidden and dense must lead from [h | r] to the entity width")

    def network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        """Pass the two layers."""
        vectors = np.concatenate([rows64(self.entity, heads), rows64(self.relation, relations)], axis=1)
        for weight, bias in ((self.hidden, self.hidden_bias), (self.dense, self.dense_bias)):
            product = matmul_ordered(vectors, np.asarray(weight, np.float64))
            vectors = np.maximum(product + np.asarray(bias, np.float64), 0)
        return vectors
