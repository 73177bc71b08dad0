"""ConvE: a convolution over head and relation, laid out as an image (Dettmers et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.ordered import matmul_ordered, weighted_sum
from kgeval.scorers.tail_network import TailNetwork

BATCH_HEADS = 64
"""heads that pass the network at a time"""


@dataclass(frozen=True, eq=False)
class ConvE(TailNetwork):
    """score(h, r, t) = relu(relu([h; r] * K + b) D + c) · t + b_t, h and r as images of some height, one on the other.

    The convolution K has stride 1 and no padding; a vector is the rows of its first input channel, then of the next.
    Batch normalisation is folded into K, b, D and c by the reader. Heads are scored in blocks.
    Dettmers et al.: Convolutional 2D Knowledge Graph Embeddings, AAAI 2018.
    """

    name: ClassVar[str] = "ConvE"
    formula: ClassVar[str] = "relu(relu([h; r] * K + b) D + c) · t + b_t"
    equal_widths: ClassVar[bool] = True

    kernel: FloatArray
    """float[channel, height, width], K; float[channel, input channel, height, width] of several input channels"""
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
        width, kernel = self.entity.shape[1], self._kernel
        self.require(kernel.ndim == 4, "kernel must be channel × height × width, or channel × input channel × …")
        rows = kernel.shape[1] * self.height
        self.require(0 < rows <= width and width % rows == 0, "height and input channels must divide the entity width")
        image = (2 * self.height - kernel.shape[2] + 1, width // rows - kernel.shape[3] + 1)
        features = len(kernel) * image[0] * image[1]
        self.require(min(image) > 0 and self.dense.shape == (features, width), "dense must fit the convolved image")
        biases = (self.kernel_bias.shape, self.dense_bias.shape, self.tail_bias.shape)
        self.require(biases == ((len(kernel),), (width,), (len(self.entity),)), "biases must fit")

    def tail_biases(self, ids: IntArray) -> Float64Array:
        """Return the biases b_t."""
        return rows64(self.tail_bias, ids)

    def network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        """Convolve some images at a time, so that what is made of them stays small."""
        parts = [
            self._pass(heads[i : i + BATCH_HEADS], relations[i : i + BATCH_HEADS])
            for i in range(0, len(heads), BATCH_HEADS)
        ]
        return np.concatenate([np.empty((0, self.entity.shape[1])), *parts])

    @property
    def _kernel(self) -> FloatArray:
        """float[channel, input channel, height, width]."""
        return self.kernel[:, None] if self.kernel.ndim == 3 else self.kernel

    def _pass(self, heads: IntArray, relations: IntArray) -> Float64Array:
        shape = (len(heads), self._kernel.shape[1], self.height, -1)
        halves = (rows64(self.entity, heads), rows64(self.relation, relations))
        image = np.concatenate([half.reshape(shape) for half in halves], axis=2)
        features = np.maximum(self._convolved(image) + np.asarray(self.kernel_bias, np.float64)[:, None, None], 0)
        flat = features.reshape(len(heads), -1)
        dense = matmul_ordered(flat, np.asarray(self.dense, np.float64))
        return np.maximum(dense + np.asarray(self.dense_bias, np.float64), 0)

    def _convolved(self, image: Float64Array) -> Float64Array:
        """Correlate with every kernel, cell by cell of the kernel, as deep learning means by convolution."""
        kernel = np.asarray(self._kernel, np.float64)
        _, channels, tall, wide = kernel.shape
        rows, columns = image.shape[2] - tall + 1, image.shape[3] - wide + 1
        cells = [(c, i, j) for c in range(channels) for i in range(tall) for j in range(wide)]
        parts = np.stack([image[:, c : c + 1, i : i + rows, j : j + columns] for c, i, j in cells])
        return weighted_sum(np.stack([kernel[:, c, i, j, None, None] for c, i, j in cells]), parts)
