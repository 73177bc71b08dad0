"""Batch normalisations after training, which are a scale and a shift."""

from __future__ import annotations

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.checkpoints.shared.shapes import Layer

Affine = tuple[Float64Array, Float64Array]
"""float64[width] each: the scale and the shift"""


def fold_batch_norm(layer: Layer, width: int, *, affine: bool = True, epsilon: float = 1e-5) -> Affine:
    """Fold a trained batch normalisation of some width into a scale and a shift, in float64.

    Parameters
    ----------
    layer
        holds ``running_mean`` and ``running_var``, and what they are followed by: ``weight`` and ``bias``
    width
        how many features it normalises
    affine
        whether it has a weight and a bias
    epsilon
        what is added to the variance

    Raises
    ------
    CheckpointError
        if an array is missing or has another shape, or if it holds what no training leaves: infinity, a negative
        variance
    """
    finite = -np.inf
    mean = np.asarray(layer.take("running_mean", width, least=finite), np.float64)
    variance = np.asarray(layer.take("running_var", width, least=0.0), np.float64)
    weight = layer.take("weight", width, least=finite) if affine else np.ones(width)
    bias = layer.take("bias", width, least=finite) if affine else np.zeros(width)
    scale = np.asarray(weight, np.float64) / np.sqrt(variance + epsilon)
    return scale, np.asarray(bias, np.float64) - mean * scale
