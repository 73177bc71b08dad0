"""ConvE's network as frameworks store it, with its batch normalisations folded into weights and biases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.arrays import Float64Array, FloatArray
from kgeval.checkpoints.shared.normalisation import Affine
from kgeval.scorers.numerics.ordered import weighted_sum


@dataclass(frozen=True)
class Network:
    """The layers, in the order in which head and relation pass them."""

    kernel: FloatArray
    """float[channel, input channel, height, width]"""
    dense: FloatArray
    """float[entity width, features], as PyTorch stores it"""
    kernel_bias: FloatArray | None = None
    dense_bias: FloatArray | None = None
    before: Affine | None = None
    """the normalisation of the image, per input channel"""
    within: Affine | None = None
    """the normalisation after the convolution, per channel"""
    after: Affine | None = None
    """the normalisation after the dense layer"""

    def arrays(self) -> dict[str, Float64Array]:
        """Fold the normalisations; the arrays of the ConvE family, in float64."""
        kernel = np.asarray(self.kernel, np.float64)
        bias = np.zeros(len(kernel)) if self.kernel_bias is None else np.asarray(self.kernel_bias, np.float64)
        before, within = self.before or _unchanged(kernel.shape[1]), self.within or _unchanged(len(kernel))
        # The image is not padded, so that its shift reaches every cell of the kernel.
        bias = bias + weighted_sum(before[1], kernel.sum(axis=(2, 3)).T)
        kernel = kernel * before[0][:, None, None] * within[0][:, None, None, None]
        dense = np.asarray(self.dense, np.float64)
        dense_bias = np.zeros(len(dense)) if self.dense_bias is None else np.asarray(self.dense_bias, np.float64)
        after = self.after or _unchanged(len(dense))
        return {
            "kernel": kernel[:, 0] if kernel.shape[1] == 1 else kernel,
            "kernel_bias": bias * within[0] + within[1],
            "dense": np.ascontiguousarray((dense * after[0][:, None]).T),
            "dense_bias": dense_bias * after[0] + after[1],
        }


def _unchanged(width: int) -> Affine:
    return np.ones(width), np.zeros(width)
