"""Transformer: head and relation attend to each other, and their sum is multiplied with tails (Galkin et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.scorers.family import rows64
from kgeval.scorers.family_bases import TailNetwork
from kgeval.scorers.numerics.ordered import matmul_ordered, weighted_sum
from kgeval.scorers.numerics.similarity import dot_rows

EPSILON = 1e-5
"""what is added to a variance"""


@dataclass(frozen=True, eq=False)
class Transformer(TailNetwork):
    """score(h, r, t) = ((x_h + x_r) F + f) · t, x = [h + p, r + p'] after the layers of an encoder.

    A layer is x ← norm(x + attention(x)), x ← norm(x + relu(x A + a) B + b).
    Galkin, Trivedi, Maheshwari, Usbeck and Lehmann: Message Passing for Hyper-Relational Knowledge Graphs, EMNLP 2020.
    """

    formula: ClassVar[str] = "(Σ encoder([h + p, r + p']) F + f) · t"
    equal_widths: ClassVar[bool] = True

    position: FloatArray
    """float[2, width], p and p'"""
    attention: FloatArray
    """float[layer, width, 3 × width], what makes queries, keys and values, each head after head"""
    attention_bias: FloatArray
    """float[layer, 3 × width]"""
    joined: FloatArray
    """float[layer, width, width], what joins the heads"""
    joined_bias: FloatArray
    """float[layer, width]"""
    hidden: FloatArray
    """float[layer, width, hidden width], A"""
    hidden_bias: FloatArray
    """float[layer, hidden width], a"""
    dense: FloatArray
    """float[layer, hidden width, width], B"""
    dense_bias: FloatArray
    """float[layer, width], b"""
    norm_scale: FloatArray
    """float[layer, 2, width], of the two normalisations of a layer"""
    norm_shift: FloatArray
    """float[layer, 2, width]"""
    final: FloatArray
    """float[width, width], F"""
    final_bias: FloatArray
    """float[width], f"""
    heads: int
    """how many heads attend, each to a part of the width"""

    def check_shapes(self) -> None:
        width, layers = self.entity.shape[1], len(self.attention)
        self.require(self.heads > 0 and width % self.heads == 0, f"{self.heads} heads must divide the width")
        self.require(self.hidden_bias.ndim == 2, "hidden_bias must be layer × hidden width")
        inner = self.hidden_bias.shape[1]
        self.require_shapes(position=(2, width), final=(width, width), final_bias=(width,))
        self.require_shapes(attention=(layers, width, 3 * width), attention_bias=(layers, 3 * width))
        self.require_shapes(joined=(layers, width, width), joined_bias=(layers, width))
        self.require_shapes(hidden=(layers, width, inner), hidden_bias=(layers, inner))
        self.require_shapes(dense=(layers, inner, width), dense_bias=(layers, width))
        self.require_shapes(norm_scale=(layers, 2, width), norm_shift=(layers, 2, width))

    def network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        sequence = np.stack([rows64(self.entity, heads), rows64(self.relation, relations)], axis=1) + self.position
        for layer in range(len(self.attention)):
            sequence = self._normalised(sequence + self._attended(sequence, layer), layer, 0)
            hidden = np.maximum(self._linear(sequence, layer, "hidden"), 0)
            sequence = self._normalised(sequence + self._linear(hidden, layer, "dense"), layer, 1)
        pooled = sequence[:, 0] + sequence[:, 1]
        return matmul_ordered(pooled, np.asarray(self.final, np.float64)) + self.final_bias

    def _attended(self, sequence: Float64Array, layer: int) -> Float64Array:
        """Let both places attend to both: softmax over q · k / √width of a head, for each head."""
        shape = (len(sequence), 2, 3, self.heads, -1)
        query, key, value = np.moveaxis(self._linear(sequence, layer, "attention").reshape(shape), 2, 0)
        scores = dot_rows(query[:, :, None] / np.sqrt(query.shape[-1]), key[:, None])
        exponentials = np.exp(scores - scores.max(axis=2, keepdims=True))
        weights = exponentials / (exponentials[:, :, :1] + exponentials[:, :, 1:])
        mixed = weighted_sum(np.moveaxis(weights, 2, 0)[..., None], np.moveaxis(value, 1, 0)[:, :, None])
        return self._linear(mixed.reshape(sequence.shape), layer, "joined")

    def _linear(self, sequence: Float64Array, layer: int, name: str) -> Float64Array:
        weight, bias = (np.asarray(self.arrays[part][layer], np.float64) for part in (name, f"{name}_bias"))
        product = matmul_ordered(sequence.reshape(-1, len(weight)), weight) + bias
        return product.reshape(*sequence.shape[:-1], -1)

    def _normalised(self, sequence: Float64Array, layer: int, which: int) -> Float64Array:
        width = sequence.shape[-1]
        centred = sequence - dot_rows(sequence, np.ones(width))[..., None] / width
        variance = dot_rows(centred, centred)[..., None] / width
        scale, shift = (np.asarray(array[layer, which], np.float64) for array in (self.norm_scale, self.norm_shift))
        return np.asarray(centred / np.sqrt(variance + EPSILON) * scale + shift)
