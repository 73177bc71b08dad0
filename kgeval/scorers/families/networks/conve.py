"""ConvE: a convolution over head and relation, laid out as an image (Dettmers et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.ordered import matmul_ordered, weighted_sum
from kgeval.scorers.numerics.similarity import Similarity
from kgeval.scorers.relational import RelationalFamily

BATCH_HEADS = 64
"""heads that pass the network at a time"""


@dataclass(frozen=True, eq=False)
class ConvE(RelationalFamily):
    """score(h, r, t) = relu(relu([h; r] * K + b) D + c) · t + b_t, h and r as images of some height, one on the other.

    The convolution K has one input channel, stride 1 and no padding. Batch normalisation is folded into K, b, D and c
    by the reader. Tails are plain vectors; each head makes its own vector with the relation, so heads are scored in
    blocks.
    Dettmers et al.: Convolutional 2D Knowledge Graph Embeddings, AAAI 2018.
    """

    name: ClassVar[str] = "ConvE"
    formula: ClassVar[str] = "relu(relu([h; r] * K + b) D + c) · t + b_t"
    similarity: ClassVar[Similarity] = "dot"
    equal_widths: ClassVar[bool] = True

    kernel: FloatArray
    """float[channel, height, width], K"""
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

    def __post_init__(self) -> None:
        super().__post_init__()
        width = self.entity.shape[1]
        self.require(0 < self.height <= width and width % self.height == 0, "height must divide the entity width")
        self.require(self.kernel.ndim == 3, "kernel must be channel × height × width")
        image = (2 * self.height - self.kernel.shape[1] + 1, width // self.height - self.kernel.shape[2] + 1)
        features = len(self.kernel) * image[0] * image[1]
        self.require(min(image) > 0 and self.dense.shape == (features, width), "dense must fit the convolved image")
        biases = (self.kernel_bias.shape, self.dense_bias.shape, self.tail_bias.shape)
        self.require(biases == ((len(self.kernel),), (width,), (len(self.entity),)), "biases must fit")

    def is_shared(self, side: Side) -> bool:
        """Tails have their stored vectors under every relation."""
        return side == "tail"

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return the network's vector of head and relation for a tail query, the tail itself for a head query."""
        if queries.side == "head":
            return rows64(self.entity, queries.anchors)
        return self._network(queries.anchors, queries.relations)

    def query_offsets(self, queries: Queries) -> Float64Array:
        """Return the bias of the tail for a head query."""
        return np.zeros(len(queries)) if queries.side == "tail" else rows64(self.tail_bias, queries.anchors)

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> FloatArray:
        """Return the network's vector of each head with the relation; tails have their stored vectors."""
        if side == "tail":
            return self.entity[ids]
        return self._network(ids, np.full(len(ids), relation))

    def candidate_biases(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        """Return the biases of tails."""
        return rows64(self.tail_bias, ids) if side == "tail" else np.zeros(len(ids))

    def _network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        parts = [
            self._pass(heads[i : i + BATCH_HEADS], relations[i : i + BATCH_HEADS])
            for i in range(0, len(heads), BATCH_HEADS)
        ]
        return np.concatenate([np.empty((0, self.entity.shape[1])), *parts])

    def _pass(self, heads: IntArray, relations: IntArray) -> Float64Array:
        pair = np.concatenate([rows64(self.entity, heads), rows64(self.relation, relations)], axis=1)
        image = pair.reshape(len(pair), 1, 2 * self.height, -1)
        features = np.maximum(self._convolved(image) + np.asarray(self.kernel_bias, np.float64)[:, None, None], 0)
        flat = features.reshape(len(pair), -1)
        dense = matmul_ordered(flat, np.asarray(self.dense, np.float64))
        return np.maximum(dense + np.asarray(self.dense_bias, np.float64), 0)

    def _convolved(self, image: Float64Array) -> Float64Array:
        """Correlate with every kernel, cell by cell of the kernel, as deep learning means by convolution."""
        _, tall, wide = self.kernel.shape
        rows, columns = image.shape[2] - tall + 1, image.shape[3] - wide + 1
        kernel = np.asarray(self.kernel, np.float64)
        cells = [(i, j) for i in range(tall) for j in range(wide)]
        parts = np.stack([image[:, :, i : i + rows, j : j + columns] for i, j in cells])
        return weighted_sum(np.stack([kernel[:, i, j, None, None] for i, j in cells]), parts)
