"""Layers of networks: arrays checked for their shapes, batch normalisations, and ConvE's convolution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray
from kgeval.base.errors import CheckpointError, reason
from kgeval.base.errors import naming as naming_place
from kgeval.models.ordered import weighted_sum

naming = partial(naming_place, error=CheckpointError)
"""names the file in the refusal of what it holds"""


@contextmanager
def readable(file: Path, what: str) -> Iterator[None]:
    """Refuse a file whose reading fails in any way: libraries have many ways of refusing what is damaged."""
    try:
        yield
    except CheckpointError:
        raise
    except Exception as error:
        why = f"no {error}" if isinstance(error, KeyError) else reason(error)
        raise CheckpointError(f"{file}: not a readable {what}, or cut short ({why}).") from error


class Layer(Protocol):
    """Arrays by name: the tensors of a state dictionary, or a module of a pickled model."""

    def take(self, name: str, *shape: int | None, least: float | None = None) -> FloatArray:
        """Return an array as :func:`check_shape` does; refuse where it is missing."""
        ...


def check_shape(name: str, array: Any, *shape: int | None, least: float | None = None) -> FloatArray:
    """Return an array if it has floating-point numbers and the expected shape, in which ``None`` is any length.

    With ``least``, the smallest number, all must be finite too: here, because scores need not show a wrong one.

    >>> check_shape("bias", np.zeros(31), 32)
    Traceback (most recent call last):
    kgeval.base.errors.CheckpointError: the tensor 'bias' is float64 [31]; expected floating-point ...
    """
    lengths = list(np.shape(array))
    fits = len(lengths) == len(shape) and all(
        expected in (None, length) for expected, length in zip(shape, lengths, strict=True)
    )
    if not fits or array.dtype.kind != "f" or array.size == 0:
        expected = ", ".join("any" if length is None else str(length) for length in shape)
        raise CheckpointError(
            f"the tensor {name!r} is {array.dtype} {lengths}; expected floating-point numbers of shape [{expected}]."
        )
    floats: FloatArray = array
    if least is not None and (wrong := ~(np.isfinite(floats) & (floats >= least))).any():
        expected = "finite numbers" if least == -np.inf else f"finite numbers from {least:g}"
        raise CheckpointError(f"the tensor {name!r} holds {floats[wrong].flat[0]}; expected {expected}.")
    return floats


def joined(tables: Mapping[str, FloatArray]) -> FloatArray:
    """Put tables of the same shape side by side, as halves; their names are for the refusal of any other."""
    if len({table.shape for table in tables.values()}) > 1:
        shapes = ", ".join(f"{table.shape} ({name})" for name, table in tables.items())
        raise CheckpointError(f"the halves of a table have different shapes: {shapes}.")
    return np.concatenate([*tables.values()], axis=1)


Affine = tuple[Float64Array, Float64Array]
"""float64[width] each: the scale and the shift"""


def fold_batch_norm(layer: Layer, width: int, *, affine: bool = True, epsilon: float = 1e-5) -> Affine:
    """Fold a trained batch normalisation of some width into a scale and a shift, in float64.

    The layer holds ``running_mean`` and ``running_var``; if it is affine, ``weight`` and ``bias`` too.
    """
    finite = -np.inf
    mean = np.asarray(layer.take("running_mean", width, least=finite), np.float64)
    variance = np.asarray(layer.take("running_var", width, least=0.0), np.float64)
    weight = layer.take("weight", width, least=finite) if affine else np.ones(width)
    bias = layer.take("bias", width, least=finite) if affine else np.zeros(width)
    scale = np.asarray(weight, np.float64) / np.sqrt(variance + epsilon)
    return scale, np.asarray(bias, np.float64) - mean * scale


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
