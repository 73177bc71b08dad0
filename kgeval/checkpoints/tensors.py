"""Named tensors of a checkpoint: taken by name, checked, and missed with a clear message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import Float64Array, FloatArray
from kgeval.errors import CheckpointError, did_you_mean
from kgeval.pickles.pickled import read_any
from kgeval.scorers.ordered import unit


class Tensors:
    """The tensors of one file (a ``state_dict``), by name.

    Parameters
    ----------
    path
        the file, for messages
    content
        what was read; anything but a mapping of names to tensors is refused
    """

    def __init__(self, path: Path, content: Any) -> None:
        self.path = path
        if not isinstance(content, Mapping):
            raise CheckpointError(f"{path}: holds no dictionary of tensors, but a {type(content).__name__}.")
        self._arrays = {str(name): value for name, value in content.items() if isinstance(value, np.ndarray)}

    @classmethod
    def read(cls, path: Path) -> Tensors:
        """Read a file of ``torch.save`` or a plain pickle that holds a ``state_dict``."""
        return cls(path, read_any(path))

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def matrix(self, name: str) -> FloatArray:
        """Return a table with one row per entity or relation.

        Raises
        ------
        CheckpointError
            if it is missing, or has another number of dimensions or another type
        """
        return self.take(name, 2)

    def take(self, name: str, dimensions: int) -> FloatArray:
        """Return a tensor with that many dimensions.

        Raises
        ------
        CheckpointError
            as :meth:`matrix` does
        """
        array = self._arrays.get(name)
        if array is None:
            raise CheckpointError(f"{self.path}: the tensor {name!r} is missing. {did_you_mean(name, self._arrays)}")
        if array.ndim != dimensions or array.dtype.kind != "f" or array.size == 0:
            raise CheckpointError(
                f"{self.path}: the tensor {name!r} is {array.dtype} {list(array.shape)}; "
                f"expected floating-point numbers in {dimensions} dimensions."
            )
        return array

    def find(self, name: str, dimensions: int) -> FloatArray | None:
        """Return a tensor that may be missing."""
        return self.take(name, dimensions) if name in self else None

    def number(self, name: str) -> float | None:
        """Return a single number that may be missing."""
        array = self._arrays.get(name)
        return None if array is None or array.size != 1 else float(array.reshape(()))

    def without(self, prefix: str) -> Tensors:
        """Return the tensors under a prefix, by the rest of their names."""
        inside = {name.removeprefix(prefix): array for name, array in self._arrays.items() if name.startswith(prefix)}
        return Tensors(self.path, inside)


def normalised(array: FloatArray) -> Float64Array:
    """Scale rows to length 1 in float64, as ``torch.nn.functional.normalize`` does."""
    return unit(np.asarray(array, np.float64))


def folded(tensors: Tensors, prefix: str, epsilon: float = 1e-5) -> tuple[Float64Array, Float64Array]:
    """Fold a trained batch normalisation into a scale and a shift, in float64.

    Raises
    ------
    CheckpointError
        if it keeps no running statistics
    """
    mean, variance = tensors.take(f"{prefix}.running_mean", 1), tensors.take(f"{prefix}.running_var", 1)
    weight, bias = tensors.find(f"{prefix}.weight", 1), tensors.find(f"{prefix}.bias", 1)
    scale = np.asarray(1.0 if weight is None else weight, np.float64) / np.sqrt(
        np.asarray(variance, np.float64) + epsilon
    )
    return scale, np.asarray(0.0 if bias is None else bias, np.float64) - mean * scale


def same_rows(where: Path, arrays: Iterable[FloatArray]) -> None:
    """Refuse tables that are put side by side and have different numbers of rows.

    Raises
    ------
    CheckpointError
        with their shapes
    """
    shapes = [array.shape for array in arrays]
    if len({shape[0] for shape in shapes}) > 1:
        raise CheckpointError(f"{where}: tables of the same rows have the shapes {', '.join(map(str, shapes))}.")


def side_by_side(where: Path, *arrays: FloatArray) -> FloatArray:
    """Put tables of the same rows side by side: halves.

    Raises
    ------
    CheckpointError
        if they have different numbers of rows
    """
    same_rows(where, arrays)
    return np.concatenate(arrays, axis=1)
