"""ConEx: ComplEx, multiplied with a convolution over head and relation (Demir and Ngonga Ngomo, 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.ordered import matmul_ordered, weighted_sum
from kgeval.scorers.tail_network import TailNetwork
from kgeval.threads import slices

BATCH_HEADS = 64
"""heads that pass the network at a time"""

LINES = 4
"""of the image: the real and the imaginary part of the head, then of the relation"""


@dataclass(frozen=True, eq=False)
class ConEx(TailNetwork):
    """score(h, r, t) = Re Σ (a Re h + i b Im h) ∘ r ∘ conj(t), with [a | b] = relu(relu([h; r] * K + c) D + e).

    The image [h; r] has the real and the imaginary parts as four lines. The convolution K has stride 1, and zeros
    around the image keep its size. Batch normalisation is folded into K and c by the reader.
    Demir and Ngonga Ngomo: Convolutional Complex Knowledge Graph Embeddings, ESWC 2021.
    """

    name: ClassVar[str] = "ConEx"
    formula: ClassVar[str] = "Re Σ (a Re h + i b Im h) r conj(t), [a | b] = relu(relu([h; r] * K + c) D + e)"
    equal_widths: ClassVar[bool] = True
    halves: ClassVar[int] = 2
    """how many vectors as long as half an entity the network makes"""

    kernel: FloatArray
    """float[channel, height, width], K; height and width are odd"""
    kernel_bias: FloatArray
    """float[channel], c"""
    dense: FloatArray
    """float[channel × 4 × half the entity width, halves × half the entity width], D"""
    dense_bias: FloatArray
    """float[halves × half the entity width], e"""

    def __post_init__(self) -> None:
        super().__post_init__()
        width = self.entity.shape[1]
        self.require(width % 2 == 0, "complex vectors need an even width")
        odd = self.kernel.ndim == 3 and self.kernel.shape[1] % 2 == self.kernel.shape[2] % 2 == 1
        self.require(odd, "kernel must be channel × height × width, these odd")
        outputs, features = self.halves * width // 2, len(self.kernel) * LINES * width // 2
        self.require(self.dense.shape == (features, outputs), "dense must fit the convolved image")
        fits = self.kernel_bias.shape == (len(self.kernel),) and self.dense_bias.shape == (outputs,)
        self.require(fits, "biases must fit")

    def network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        """Multiply heads, their real and imaginary parts scaled by what the network made, with relations."""
        (a, b), (head, relation) = self.outputs(heads, relations), self.parts(heads, relations)
        real = a * head[0] * relation[0] - b * head[1] * relation[1]
        return np.concatenate([real, a * head[0] * relation[1] + b * head[1] * relation[0]], axis=1)

    def parts(self, heads: IntArray, relations: IntArray) -> tuple[list[Float64Array], list[Float64Array]]:
        """Return real and imaginary parts of heads and of relations."""
        return np.split(rows64(self.entity, heads), 2, axis=1), np.split(rows64(self.relation, relations), 2, axis=1)

    def outputs(self, heads: IntArray, relations: IntArray) -> list[Float64Array]:
        """Pass pairs of head and relation through the network; ``halves`` arrays, float64[pair, half the width]."""
        vectors = np.empty((len(heads), len(self.dense_bias)))
        for part in slices(len(heads), BATCH_HEADS):
            pairs = np.concatenate([rows64(self.entity, heads[part]), rows64(self.relation, relations[part])], axis=1)
            features = self._convolved(pairs.reshape(len(pairs), 1, LINES, -1))
            dense = matmul_ordered(features.reshape(len(pairs), -1), np.asarray(self.dense, np.float64))
            vectors[part] = np.maximum(dense + np.asarray(self.dense_bias, np.float64), 0)
        return np.split(vectors, self.halves, axis=1)

    def _convolved(self, image: Float64Array) -> Float64Array:
        """Correlate with every kernel, cell by cell of the kernel; float64[pair, channel, line, column]."""
        kernel, (_, tall, wide) = np.asarray(self.kernel, np.float64), self.kernel.shape
        framed = np.pad(image, ((0, 0), (0, 0), (tall // 2, tall // 2), (wide // 2, wide // 2)))
        lines, columns = image.shape[2:]
        cells = [(i, j) for i in range(tall) for j in range(wide)]
        moved = np.stack([framed[:, :, i : i + lines, j : j + columns] for i, j in cells])
        sums = weighted_sum(np.stack([kernel[:, i, j, None, None] for i, j in cells]), moved)
        return np.maximum(sums + np.asarray(self.kernel_bias, np.float64)[:, None, None], 0)
