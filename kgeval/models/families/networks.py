"""Families with a neural network: ERMLP, ERMLPE, NTN, ProjE, CrossE, and a Transformer of head and relation.

Readers of checkpoints make these models of stored arrays; ``kgeval/models/family.py`` explains their methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.models.family import ScoredFamily, TailNetwork, by_relation, rectified, rows64
from kgeval.models.ordered import ACTIVATIONS, Activation, matmul_ordered, weighted_sum
from kgeval.models.similarity import dot_rows


@dataclass(frozen=True, eq=False)
class ERMLP(ScoredFamily):
    """score(h, r, t) = f(h A_h + r A_r + t A_t + a) · w + b.

    Dong et al.: Knowledge Vault: A Web-Scale Approach to Probabilistic Knowledge Fusion, KDD 2014.
    """

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

    def check_shapes(self) -> None:
        rows, inner = 2 * self.entity.shape[1] + self.relation.shape[1], self.output.size
        self.require_shapes(hidden=(rows, inner), hidden_bias=(inner,), output=(inner,), output_bias=(1,))

    def query_vectors(self, queries: Queries) -> Float64Array:
        entity, relation = self.rows_of(queries)
        hidden = matmul_ordered(entity, self._weights("head" if queries.side == "tail" else "tail"))
        inner = slice(self.entity.shape[1], self.entity.shape[1] + self.relation.shape[1])
        weights = np.asarray(self.hidden[inner], np.float64)
        return hidden + matmul_ordered(relation, weights) + np.asarray(self.hidden_bias, np.float64)

    def candidate_vectors(self, side: Side, ids: IntArray) -> Float64Array:
        return matmul_ordered(rows64(self.entity, ids), self._weights(side))

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        # Numba is loaded when something is scored, not before.
        from kgeval.models.kernels import sum_units

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


@dataclass(frozen=True, eq=False)
class ERMLPE(TailNetwork):
    """score(h, r, t) = relu(relu([h | r] A + a) B + b) · t.

    Batch normalisations are folded into A, a, B and b by the reader.
    Sharifzadeh, in PyKEEN (Ali et al.: Bringing Light Into the Dark, TPAMI 2021).
    """

    formula: ClassVar[str] = "relu(relu([h | r] A + a) B + b) · t"

    hidden: FloatArray
    """float[entity width + relation width, hidden width], A"""
    hidden_bias: FloatArray
    """float[hidden width], a"""
    dense: FloatArray
    """float[hidden width, entity width], B"""
    dense_bias: FloatArray
    """float[entity width], b"""

    def check_shapes(self) -> None:
        width, inner = self.entity.shape[1], self.hidden_bias.size
        self.require_shapes(hidden=(width + self.relation.shape[1], inner), hidden_bias=(inner,))
        self.require_shapes(dense=(inner, width), dense_bias=(width,))

    def network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        vectors = np.concatenate([rows64(self.entity, heads), rows64(self.relation, relations)], axis=1)
        for weight, bias in ((self.hidden, self.hidden_bias), (self.dense, self.dense_bias)):
            vectors = rectified(vectors, weight, bias)
        return vectors


@dataclass(frozen=True, eq=False)
class NTN(ScoredFamily):
    """score(h, r, t) = Σ_s u_s f(h W_s t + v_s · h + v'_s · t + b_s); all parameters belong to the relation.

    A row of ``relation`` has the matrices W_s one after the other, each row by row.
    Socher, Chen, Manning and Ng: Reasoning With Neural Tensor Networks for Knowledge Base Completion, NeurIPS 2013.
    """

    formula: ClassVar[str] = "Σ u f(h W t + v·h + v'·t + b), over slices of the relation"
    by_dimension: ClassVar[bool] = True
    batch_candidates: ClassVar[int] = 2**8

    head_weight: FloatArray
    """float[relation, slice × entity width], v"""
    tail_weight: FloatArray
    """float[relation, slice × entity width], v'"""
    slice_bias: FloatArray
    """float[relation, slice], b"""
    slice_output: FloatArray
    """float[relation, slice], u"""
    activation: Activation
    """the function f"""

    def check_shapes(self) -> None:
        width, rows = self.entity.shape[1], len(self.relation)
        self.require(self.slice_output.ndim == 2, "slice_output must be relation × slice")
        slices = self.slice_output.shape[1]
        self.require_shapes(relation=(rows, slices * width**2), slice_output=(rows, slices), slice_bias=(rows, slices))
        self.require_shapes(head_weight=(rows, slices * width), tail_weight=(rows, slices * width))

    def query_vectors(self, queries: Queries) -> Float64Array:
        width, slices = self.entity.shape[1], self.slice_output.shape[1]
        anchors, tails = rows64(self.entity, queries.anchors), queries.side == "tail"
        near, far = (self.head_weight, self.tail_weight) if tails else (self.tail_weight, self.head_weight)

        def multiply(relation: int, part: BoolArray) -> Float64Array:
            matrices = rows64(self.relation, relation).reshape(slices, width, width)
            by_anchor = np.moveaxis(matrices, 1 if tails else 2, 0).reshape(width, -1)
            weights = matmul_ordered(anchors[part], by_anchor) + rows64(far, relation)
            added = matmul_ordered(anchors[part], rows64(near, relation).reshape(slices, width).T)
            added = added + rows64(self.slice_bias, relation)
            outputs = np.tile(rows64(self.slice_output, relation), (part.sum(), 1))
            return np.concatenate([weights, added, outputs], axis=1)

        return by_relation(queries.relations, multiply)

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        count, slices = len(queries), self.slice_output.shape[1]
        weights, added, outputs = np.split(queries, [-2 * slices, -slices], axis=1)
        products = matmul_ordered(weights.reshape(count * slices, -1), candidates).reshape(count, slices, -1)
        hidden = ACTIVATIONS[self.activation](products + added[:, :, None])
        return weighted_sum(outputs.T[:, :, None], np.moveaxis(hidden, 1, 0))


@dataclass(frozen=True, eq=False)
class ProjE(TailNetwork):
    """score(h, r, t) = f(d∘h + d'∘r + b) · t + b'.

    Shi and Weninger: ProjE: Embedding Projection for Knowledge Graph Completion, AAAI 2017.
    """

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

    def check_shapes(self) -> None:
        width = (self.entity.shape[1],)
        self.require_shapes(head_scale=width, relation_scale=width, bias=width, score_bias=(1,))

    def candidate_biases(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        return np.full(len(ids), np.float64(self.score_bias[0]) if side == "tail" else 0.0)

    def network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        scaled = np.asarray(self.head_scale, np.float64) * rows64(self.entity, heads)
        moved = scaled + np.asarray(self.relation_scale, np.float64) * rows64(self.relation, relations)
        return ACTIVATIONS[self.activation](moved + np.asarray(self.bias, np.float64))


@dataclass(frozen=True, eq=False)
class CrossE(TailNetwork):
    """score(h, r, t) = f(c_r∘h + c_r∘h∘r + b) · t.

    The paper's sigmoid around the score does not change the order, and is left out.
    Zhang, Paudel, Zhang, Bernstein and Chen: Interaction Embeddings for Prediction and Explanation in Knowledge Graphs,
    WSDM 2019.
    """

    formula: ClassVar[str] = "f(c∘h + c∘h∘r + b) · t"
    equal_widths: ClassVar[bool] = True

    interaction: FloatArray
    """float[relation, width], c"""
    bias: FloatArray
    """float[width], b"""
    activation: Activation
    """the function f"""

    def check_shapes(self) -> None:
        self.require_shapes(interaction=self.relation.shape, bias=(self.entity.shape[1],))

    def network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        crossed = rows64(self.interaction, relations) * rows64(self.entity, heads)
        moved = np.asarray(self.bias, np.float64) + crossed + crossed * rows64(self.relation, relations)
        return ACTIVATIONS[self.activation](moved)


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
    """the weights that make queries, keys and values, each head after head; float[layer, width, 3 × width]"""
    attention_bias: FloatArray
    """the biases of queries, keys and values; float[layer, 3 × width]"""
    joined: FloatArray
    """the weights that join the attention heads; float[layer, width, width]"""
    joined_bias: FloatArray
    """the biases of the joined heads; float[layer, width]"""
    hidden: FloatArray
    """float[layer, width, hidden width], A"""
    hidden_bias: FloatArray
    """float[layer, hidden width], a"""
    dense: FloatArray
    """float[layer, hidden width, width], B"""
    dense_bias: FloatArray
    """float[layer, width], b"""
    norm_scale: FloatArray
    """the scales of the two normalisations of a layer; float[layer, 2, width]"""
    norm_shift: FloatArray
    """the shifts of the two normalisations of a layer; float[layer, 2, width]"""
    final: FloatArray
    """float[width, width], F"""
    final_bias: FloatArray
    """float[width], f"""
    heads: int
    """the number of attention heads, each for a part of the width"""

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
        """Let head and relation attend to both: in each attention head, the softmax of q · k / √(width of the head)."""
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
        return np.asarray(centred / np.sqrt(variance + 1e-5) * scale + shift)  # PyTorch adds 1e-5, too
