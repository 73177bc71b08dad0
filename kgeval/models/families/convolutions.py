"""Families with a convolution: ConvE, ConvKB, ConEx and AConEx.

Readers of checkpoints make these models of stored arrays, with ``folded_layers`` for batch normalisation;
``kgeval/models/family.py`` explains their methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray, IntArray
from kgeval.base.threads import slices
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.models.family import ScoredFamily, TailNetwork, rectified, rows64
from kgeval.models.ordered import complex_product, weighted_sum
from kgeval.models.scorer import scores_of_parts
from kgeval.models.similarity import dot_rows

BATCH_HEADS = 64
"""the number of heads that pass the network at a time"""

HELD_QUERIES = 64
"""the number of queries whose vectors are held at a time"""

LINES = 4
"""the number of lines of ConEx's image: real and imaginary part of the head, then of the relation"""


@dataclass(frozen=True, eq=False)
class ConvE(TailNetwork):
    """score(h, r, t) = relu(relu([h; r] * K + b) D + c) · t + b_t, h and r as images of some height, one on the other.

    The convolution K has stride 1 and no padding; a vector has the rows of its first input channel, then of the next.
    Batch normalisation is folded into K, b, D and c by the reader. Heads are scored in blocks.
    Dettmers et al.: Convolutional 2D Knowledge Graph Embeddings, AAAI 2018.
    """

    formula: ClassVar[str] = "relu(relu([h; r] * K + b) D + c) · t + b_t"
    equal_widths: ClassVar[bool] = True

    kernel: FloatArray
    """K; float[channel, height, width], or with several input channels float[channel, input channel, height, width]"""
    kernel_bias: FloatArray
    """float[channel], b"""
    dense: FloatArray
    """float[channel × height × width of the convolved image, entity width], D"""
    dense_bias: FloatArray
    """float[entity width], c"""
    tail_bias: FloatArray
    """float[entity], b_t"""
    height: int
    """the height of one vector as an image; its width is what remains"""

    def check_shapes(self) -> None:
        width, kernel = self.entity.shape[1], self._kernel
        self.require(kernel.ndim == 4, "kernel must be channel × height × width, or channel × input channel × …")
        rows = kernel.shape[1] * self.height
        self.require(0 < rows <= width and width % rows == 0, "height and input channels must divide the entity width")
        image = (2 * self.height - kernel.shape[2] + 1, width // rows - kernel.shape[3] + 1)
        features = len(kernel) * image[0] * image[1]
        self.require(min(image) > 0 and self.dense.shape == (features, width), "dense must fit the convolved image")
        self.require_shapes(kernel_bias=(len(kernel),), dense_bias=(width,), tail_bias=(len(self.entity),))

    def candidate_biases(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        return rows64(self.tail_bias, ids) if side == "tail" else np.zeros(len(ids))

    def network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        shape = (-1, self._kernel.shape[1], self.height, self.entity.shape[1] // self._kernel.shape[1] // self.height)
        vectors = np.empty((len(heads), self.entity.shape[1]))
        for part in slices(len(heads), BATCH_HEADS):
            halves = (rows64(self.entity, heads[part]), rows64(self.relation, relations[part]))
            image = np.concatenate([half.reshape(shape) for half in halves], axis=2)
            features = convolved(image, self._kernel, self.kernel_bias)
            vectors[part] = rectified(features.reshape(len(image), -1), self.dense, self.dense_bias)
        return vectors

    @property
    def _kernel(self) -> FloatArray:
        """float[channel, input channel, height, width]."""
        return self.kernel[:, None] if self.kernel.ndim == 3 else self.kernel


@dataclass(frozen=True, eq=False)
class ConvKB(ScoredFamily):
    """score(h, r, t) = Σ_k Σ_f W_fk relu(a_f h_k + b_f r_k + c_f t_k + d_f) + w.

    Nguyen, Nguyen, Nguyen and Phung: A Novel Embedding Model for Knowledge Base Completion Based on Convolutional
    Neural Network, NAACL 2018.
    """

    formula: ClassVar[str] = "Σ W relu(a h + b r + c t + d) + w, over dimensions and filters"
    equal_widths: ClassVar[bool] = True
    by_dimension: ClassVar[bool] = True

    kernel: FloatArray
    """float[filter, 3], the weights (a, b, c) of head, relation and tail"""
    kernel_bias: FloatArray
    """float[filter], d"""
    output: FloatArray
    """float[filter, width], W"""
    output_bias: FloatArray
    """float[1], w"""

    def check_shapes(self) -> None:
        count = self.kernel_bias.size
        self.require_shapes(kernel=(count, 3), kernel_bias=(count,))
        self.require_shapes(output=(count, self.entity.shape[1]), output_bias=(1,))

    def query_vectors(self, queries: Queries) -> Float64Array:
        anchors, relations = self.rows_of(queries)
        head, relation, tail = np.asarray(self.kernel, np.float64).T
        anchor, slopes = (head, tail) if queries.side == "tail" else (tail, head)
        sums = anchors[:, :, None] * anchor + relations[:, :, None] * relation
        responses = sums + np.asarray(self.kernel_bias, np.float64)
        return np.concatenate([np.tile(slopes, (len(queries), 1)), responses.reshape(len(queries), -1)], axis=1)

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        # Numba is loaded when something is scored, not before.
        from kgeval.models.kernels import sum_filters

        weights = np.ascontiguousarray(np.asarray(self.output, np.float64).T)
        slopes, responses = queries[:, : len(self.kernel)], queries[:, len(self.kernel) :]
        scores = np.empty((len(queries), candidates.shape[1]))
        sum_filters(responses, candidates, slopes[0], weights, scores)
        return scores + np.float64(self.output_bias[0])

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        score, parts = super().scores, slices(len(queries), HELD_QUERIES)
        return scores_of_parts(((part, score) for part in parts), queries, candidates)


@dataclass(frozen=True, eq=False)
class ConEx(TailNetwork):
    """score(h, r, t) = Re Σ (a Re h + i b Im h) ∘ r ∘ conj(t), with [a | b] = relu(relu([h; r] * K + c) D + e).

    The image [h; r] has the real and the imaginary parts as four lines. The convolution K has stride 1, and zeros
    around the image keep its size. Batch normalisation is folded into K and c by the reader.
    Demir and Ngonga Ngomo: Convolutional Complex Knowledge Graph Embeddings, ESWC 2021.
    """

    formula: ClassVar[str] = "Re Σ (a Re h + i b Im h) r conj(t), [a | b] = relu(relu([h; r] * K + c) D + e)"
    equal_widths: ClassVar[bool] = True
    halves: ClassVar[int] = 2
    """the number of vectors that the network makes, each half as wide as an entity's"""

    kernel: FloatArray
    """float[channel, height, width], K; height and width are odd"""
    kernel_bias: FloatArray
    """float[channel], c"""
    dense: FloatArray
    """float[channel × 4 × half the entity width, halves × half the entity width], D"""
    dense_bias: FloatArray
    """float[halves × half the entity width], e"""

    def check_shapes(self) -> None:
        width = self.entity.shape[1]
        self.require(width % 2 == 0, "complex vectors need an even width")
        odd = self.kernel.ndim == 3 and self.kernel.shape[1] % 2 == self.kernel.shape[2] % 2 == 1
        self.require(odd, "kernel must be channel × height × width, these odd")
        outputs, features = self.halves * width // 2, len(self.kernel) * LINES * width // 2
        self.require_shapes(dense=(features, outputs), kernel_bias=(len(self.kernel),), dense_bias=(outputs,))

    def network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        scaled = self.outputs(heads, relations) * rows64(self.entity, heads)
        return complex_product(scaled, rows64(self.relation, relations))

    def outputs(self, heads: IntArray, relations: IntArray) -> Float64Array:
        """Pass pairs of head and relation through the network; float64[pair, halves × half the entity width]."""
        vectors = np.empty((len(heads), len(self.dense_bias)))
        frame = [(0, 0), (0, 0), *((size // 2, size // 2) for size in self.kernel.shape[1:])]
        for part in slices(len(heads), BATCH_HEADS):
            pairs = np.concatenate([rows64(self.entity, heads[part]), rows64(self.relation, relations[part])], axis=1)
            framed = np.pad(pairs.reshape(len(pairs), 1, LINES, -1), frame)
            features = convolved(framed, self.kernel[:, None], self.kernel_bias)
            vectors[part] = rectified(features.reshape(len(pairs), -1), self.dense, self.dense_bias)
        return vectors


@dataclass(frozen=True, eq=False)
class AConEx(ConEx):
    """score(h, r, t) = Re Σ (h ∘ r + a − d + i (b + c)) ∘ conj(t), with [a | b | c | d] made as ConEx makes its halves.

    If dice-embeddings scores triple by triple, it adds Σ (a + b + c − d) to ComplEx instead, which moves heads alone.
    The layers are those of ConEx (Demir and Ngonga Ngomo, 2021); the additive form is of dice-embeddings.
    """

    formula: ClassVar[str] = (
        "Re Σ (h r + a − d + i (b + c)) conj(t), [a | b | c | d] = relu(relu([h; r] * K + c) D + e)"
    )
    halves: ClassVar[int] = 4

    by_triple: bool
    """whether the network adds to the score, not to the vectors"""

    def network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        product = complex_product(rows64(self.entity, heads), rows64(self.relation, relations))
        if self.by_triple:
            return product
        a, b, c, d = np.split(self.outputs(heads, relations), self.halves, axis=1)
        return np.asarray(product + np.concatenate([a - d, b + c], axis=1))

    def candidate_biases(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        if side == "tail" or not self.by_triple:
            return np.zeros(len(ids))
        a, b, c, d = np.split(self.outputs(ids, np.full(len(ids), relation)), self.halves, axis=1)
        return dot_rows(a + b + (c - d), np.ones_like(a))


def convolved(image: Float64Array, kernel: FloatArray, bias: FloatArray) -> Float64Array:
    """Correlate with every kernel, as deep learning means by convolution, add the biases, and apply relu.

    The image is float64[row, input channel, line, column], and so is the result, with a channel for each kernel.
    """
    _, channels, tall, wide = kernel.shape
    lines, columns = image.shape[2] - tall + 1, image.shape[3] - wide + 1
    cells = [(c, i, j) for c in range(channels) for i in range(tall) for j in range(wide)]
    parts = np.stack([image[:, c : c + 1, i : i + lines, j : j + columns] for c, i, j in cells])
    weights = np.asarray(kernel, np.float64)
    sums = weighted_sum(np.stack([weights[:, c, i, j, None, None] for c, i, j in cells]), parts)
    return np.maximum(sums + np.asarray(bias, np.float64)[:, None, None], 0)


Affine = tuple[Float64Array, Float64Array]
"""float64[width] each: the scale and the shift"""


def folded_layers(
    kernel: FloatArray,
    dense: FloatArray,
    *,
    kernel_bias: FloatArray | None = None,
    dense_bias: FloatArray | None = None,
    before: Affine | None = None,
    within: Affine | None = None,
    after: Affine | None = None,
) -> dict[str, Float64Array]:
    """Fold the batch normalisations of a network into its layers; return the arrays of the ConvE family, in float64.

    ``kernel`` is float[channel, input channel, height, width], and ``dense`` float[entity width, features], as PyTorch
    stores it. The normalisation ``before`` is of the image, per input channel; ``within`` follows the convolution, per
    channel; ``after`` the dense layer.
    """
    kernel, dense = np.asarray(kernel, np.float64), np.asarray(dense, np.float64)
    bias = np.zeros(len(kernel)) if kernel_bias is None else np.asarray(kernel_bias, np.float64)
    of_image, of_channels = before or _unchanged(kernel.shape[1]), within or _unchanged(len(kernel))
    # The image is not padded, so that its shift reaches every cell of the kernel.
    bias = bias + weighted_sum(of_image[1], kernel.sum(axis=(2, 3)).T)
    kernel = kernel * of_image[0][:, None, None] * of_channels[0][:, None, None, None]
    last = np.zeros(len(dense)) if dense_bias is None else np.asarray(dense_bias, np.float64)
    scale, shift = after or _unchanged(len(dense))
    return {
        "kernel": kernel[:, 0] if kernel.shape[1] == 1 else kernel,
        "kernel_bias": bias * of_channels[0] + of_channels[1],
        "dense": np.ascontiguousarray((dense * scale[:, None]).T),
        "dense_bias": last * scale + shift,
    }


def _unchanged(width: int) -> Affine:
    return np.ones(width), np.zeros(width)
