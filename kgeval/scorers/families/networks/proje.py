"""ProjE: head and relation are combined dimension by dimension, then projected onto tails (Shi, Weninger, 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.activations import ACTIVATIONS, Activation
from kgeval.scorers.tail_network import TailNetwork


@dataclass(frozen=True, eq=False)
class ProjE(TailNetwork):
    """score(h, r, t) = f(d∘h + d'∘r + b) · t + b'.

    Shi and Weninger: ProjE: Embedding Projection for Knowledge Graph Completion, AAAI 2017.
    """

    name: ClassVar[str] = "ProjE"
    formula: ClassVar[str] = "f(d∘h + d'∘r + b) · t + b'"
    equal_widths: ClassVar[bool] = True

    head_scale: FloatArray
    """float[width], d"""
    relation_scale: FloatArray
    """float[width], d'"""
    bias: FloatArray
    """float[width], b"""
    score_bias: FloatArray
    """float[1], b'"""
    activation: Activation
    """the function f"""

    def __post_init__(self) -> None:
        super().__post_init__()
        width = (self.entity.shape[1],)
        fits = self.head_scale.shape == self.relation_scale.shape == self.bias.shape == width
        self.require(fits and self.score_bias.shape == (1,), "scales and bias must be as wide as entity")

    def tail_biases(self, ids: IntArray) -> Float64Array:
        """Return the one bias b'."""
        return np.full(len(ids), np.float64(self.score_bias[0]))

    def network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        """Combine head and relation."""
        scaled = np.asarray(self.head_scale, np.float64) * rows64(self.entity, heads)
        moved = scaled + np.asarray(self.relation_scale, np.float64) * rows64(self.relation, relations)
        return ACTIVATIONS[self.activation](moved + np.asarray(self.bias, np.float64))
