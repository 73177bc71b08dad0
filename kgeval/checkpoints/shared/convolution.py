"""ConvE's network as frameworks store it, with its batch normalisations folded into weights and biases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.arrays import Float64Array, FloatArray
from kgeval.checkpoints.shared.normalisation import Affine


@dataclass(frozen=True)
class Network:
    """The layers, in the order in which head and relation pass them."""

    kernel: FloatArray
    """float[channel, 1, height, width]"""
    dense: FloatArray
    """float[entity width, features], as PyTorch stores it"""
    kernel_bias: FloatArray | None = None
    dense_bias: FloatArray | None = None
    before: Affine | None = None
    """the normalisation of the image"""
    within: Affine | None = None
    """the normalisation after the convolution, per channel"""
    after: Affine | None = None
    """the normalisation after the dense layer"""

    def arrays(self) -> dict[str, Float64Array]:
        """Fold the normalisations; the arrays of the ConvE family, in float64."""
        kernel = np.asarray(self.kernel[:, 0], np.float64)
        bias = np.zeros(len(kernel)) if self.kernel_bias is None else np.asarray(self.kernel_bias, np.float64)
        before, within, after = self.before or _unchanged(1), self.within or _unchanged(len(kernel)), self.after
        # The image is not padded, so that its shift reaches every cell of the kernel.
        bias = bias + before[1] * kernel.sum(axis=(1, 2))
        kernel = kernel * before[0]
        dense = np.asarray(self.dense, np.float64)
        dense_bias = np.zeros(len(dense)) if self.dense_bias is None else np.asarray(self.dense_bias, np.float64)
        after = after or _unchanged(len(dense))
        return {
            "kernel": kernel * within[0][:, None, None],
            "kernel_bias": bias * within[0] + within[1],
            "dense": np.ascontiguousarray((dense * after[0][:, None]).T),
            "dense_bias": dense_bias * after[0] + after[1],
        }


def _unchanged(width: int) -> Affine:
    return np.ones(width), np.zeros(width)
