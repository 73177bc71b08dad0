"""The tensors of a state_dict: taken by name, with their shapes checked, and none of them left unused.

Readers make ``Tensors`` of a file, take what the formula needs, and call ``refuse_unused``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray
from kgeval.base.assumptions import choose
from kgeval.base.errors import CheckpointError, did_you_mean, first_few
from kgeval.base.pickled import pickle_strings, read_pickled
from kgeval.base.unpickle import StubObject
from kgeval.models.checkpoints.locate import naming
from kgeval.models.checkpoints.mapped_arrays import ARRAYS, SAFE, array_names, read_npz, read_safetensors
from kgeval.models.checkpoints.options import Options
from kgeval.models.families.convolutions import Affine

COUNTERS = "*.num_batches_tracked"
"""the names of the tensors in which batch normalisations count batches, as a pattern; no score depends on them"""

PARALLEL = "module."
"""the prefix that PyTorch's ``DataParallel`` puts before the name of every tensor"""

LIGHTNING = "model."
"""the prefix that a PyTorch Lightning module puts before the name of every tensor of the model that it trains"""

WRAPPINGS = ("state_dict", "model_state_dict", "model")
"""the keys under which training scripts save a ``state_dict``, beside what they need to continue training"""

DEEPEST_MODULE = 32
"""the deepest nesting of modules that is read"""


class Tensors:
    """The tensors of one file (a ``state_dict``), by name; the reader must use each of them.

    Content that is no array is ignored.
    """

    def __init__(self, path: Path, content: Any) -> None:
        self.path = path
        if not isinstance(content, Mapping):
            raise CheckpointError(f"{path}: expected a dictionary of tensors, found a {type(content).__name__}.")
        arrays = {str(name): value for name, value in content.items() if isinstance(value, np.ndarray)}
        parallel = all(name.startswith(PARALLEL) for name in arrays)
        self._arrays = {name.removeprefix(PARALLEL) if parallel else name: array for name, array in arrays.items()}
        self._prefix = ""
        self._unused = set(self._arrays)  # shared by all views

    @classmethod
    def read(cls, path: Path, options: Options | None = None) -> Tensors:
        """Read a ``state_dict``, by itself or wrapped, of ``torch.save`` or a plain pickle; or named arrays."""
        if path.suffix in ARRAYS:
            return cls(path, read_npz(path) if path.suffix != SAFE else read_safetensors(path).arrays)
        return cls(path, unwrap_state_dict(read_pickled(path), options, path))

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def matrix(self, name: str) -> FloatArray:
        return self.take(name, None, None)

    def get(self, name: str) -> Any:
        """Return a tensor of any shape and type, ``None`` if it is missing."""
        self._unused.discard(self._prefix + name)
        return self._arrays.get(name)

    def take(self, name: str, *shape: int | None, least: float | None = None) -> FloatArray:
        """Return a tensor of that shape, as :func:`kgeval.models.checkpoints.tensors.check_shape` does."""
        array = self.get(name)
        if array is None:
            hint = did_you_mean(name, self._arrays) or "The file holds no tensors."
            raise CheckpointError(f"{self.path}: the tensor {self._prefix + name!r} is missing. {hint}")
        with naming(self.path):
            return check_shape(self._prefix + name, array, *shape, least=least)

    def side_by_side(self, *names: str, rows: int | None = None) -> FloatArray:
        """Take tables of the same shape and put them side by side, as halves."""
        arrays = {self._prefix + name: self.take(name, rows, None) for name in names}
        with naming(self.path):
            return joined(arrays)

    def find(self, name: str, *shape: int | None) -> FloatArray | None:
        return self.take(name, *shape) if name in self else None

    def number(self, name: str) -> float | None:
        """Return a single number that may be missing."""
        array = self.get(name)
        if array is None:
            return None
        shape = (1,) * np.ndim(array)  # frameworks keep it in no, one or two dimensions
        return float(self.take(name, *shape, least=-np.inf).reshape(()))

    def phases(self, name: str, extent_name: str, pi: float) -> Float64Array:
        """Take phases in radians; they are stored in units of a range over π, and ``extent_name`` holds the range."""
        array, extent = self.matrix(name), self.number(extent_name)
        if not extent:
            fault = f"the tensor {self._prefix + extent_name!r} is missing or zero"
            raise CheckpointError(f"{self.path}: {fault}, but phases are divided by it.")
        return np.asarray(array, np.float64) / (extent / pi)

    def under(self, prefix: str) -> Tensors:
        """Return the tensors under a prefix, by the rest of their names; taking one of them counts as use here too."""
        inside = {name.removeprefix(prefix): array for name, array in self._arrays.items() if name.startswith(prefix)}
        view = Tensors(self.path, inside)
        view._prefix, view._unused = self._prefix + prefix, self._unused
        return view

    def of_model(self, starts: str | tuple[str, ...]) -> Tensors:
        """Return these tensors; if only names after PyTorch Lightning's prefix begin with ``starts``, those tensors."""
        places = (self, self.under(LIGHTNING))
        return next((place for place in places if any(name.startswith(starts) for name in place)), self)

    def refuse_unused(self, model: str, *ignored: str, cure: str = "") -> None:
        """Refuse tensors that no formula has used: the model is a different one, and scores would be wrong.

        ``ignored`` are patterns of names that do not affect scores.

        >>> tensors = Tensors(Path("m.pt"), {"E": np.ones((2, 1)), "gate": np.ones(1), "margin": np.ones(1)})
        >>> _ = tensors.matrix("E")
        >>> tensors.refuse_unused("DistMult", "margin")
        Traceback (most recent call last):
        kgeval.base.errors.CheckpointError: m.pt: a DistMult does not use the tensor 'gate'. It is a different model...
        """
        unused = sorted(name for name in self._unused if not any(fnmatchcase(name, pattern) for pattern in ignored))
        if unused:
            fault = f"a {model} does not use the tensor{'s' * (len(unused) > 1)} {first_few([*map(repr, unused)])}"
            why = "It is a different model, or has parts that kgeval does not compute. Evaluate the live model."
            raise CheckpointError(f"{self.path}: {fault}. {why}{cure}")


def check_shape(name: str, array: Any, *shape: int | None, least: float | None = None) -> FloatArray:
    """Return an array if it has floating-point numbers and the expected shape, in which ``None`` is any length.

    With ``least``, the smallest number allowed, all numbers must be finite too: scores need not show a wrong one.

    >>> check_shape("bias", np.zeros(31), 32)
    Traceback (most recent call last):
    kgeval.base.errors.CheckpointError: the tensor 'bias' is float64 [31]; expected floats of shape ...
    """
    lengths = list(np.shape(array))
    fits = len(lengths) == len(shape) and all(a in (None, b) for a, b in zip(shape, lengths, strict=True))
    if not fits or array.dtype.kind != "f" or array.size == 0:
        expected = ", ".join("any" if length is None else str(length) for length in shape)
        raise CheckpointError(f"the tensor {name!r} is {array.dtype} {lengths}; expected floats of shape [{expected}].")
    floats: FloatArray = array
    if least is not None and (wrong := ~(np.isfinite(floats) & (floats >= least))).any():
        expected = "finite numbers" if least == -np.inf else f"finite numbers from {least:g}"
        raise CheckpointError(f"the tensor {name!r} holds {floats[wrong].flat[0]}; expected {expected}.")
    return floats


def joined(tables: Mapping[str, FloatArray]) -> FloatArray:
    """Put tables of the same shape side by side, as halves; the names are for the message if the shapes differ."""
    if len({table.shape for table in tables.values()}) > 1:
        shapes = ", ".join(f"{table.shape} ({name})" for name, table in tables.items())
        raise CheckpointError(f"the halves of a table have different shapes: {shapes}.")
    return np.concatenate([*tables.values()], axis=1)


def check_same_rows(where: Path, arrays: Iterable[FloatArray]) -> None:
    """Refuse tables of different numbers of rows."""
    shapes = [array.shape for array in arrays]
    if len({shape[0] for shape in shapes}) > 1:
        shown = ", ".join(map(str, shapes))
        raise CheckpointError(f"{where}: tables that must have equally many rows have the shapes {shown}.")


def fold_batch_norm(layer: Any, width: int, *, affine: bool = True, epsilon: float = 1e-5) -> Affine:
    """Fold a trained batch normalisation of some width into a scale and a shift, in float64.

    ``layer`` is the :class:`Tensors` under the layer's name, or a module of a pickled model. It holds ``running_mean``
    and ``running_var``; if it is affine, ``weight`` and ``bias`` too.
    """
    finite = -np.inf
    mean = np.asarray(layer.take("running_mean", width, least=finite), np.float64)
    variance = np.asarray(layer.take("running_var", width, least=0.0), np.float64)
    weight = layer.take("weight", width, least=finite) if affine else np.ones(width)
    bias = layer.take("bias", width, least=finite) if affine else np.zeros(width)
    scale = np.asarray(weight, np.float64) / np.sqrt(variance + epsilon)
    return scale, np.asarray(bias, np.float64) - mean * scale


def unwrap_state_dict(content: Any, options: Options | None = None, file: object = "") -> Any:
    """Return the ``state_dict`` in what a training script saved, or of the module in it; anything else as it is.

    The option ``state`` names one of several that have the same tensors, such as the last and the best; without
    ``options``, which are for reading, the first is taken.

    >>> unwrap_state_dict({"model_state_dict": {"E": 1}, "optimizer": {}, "epoch": 5})
    {'E': 1}
    """
    parts = content if isinstance(content, Mapping) else {}
    states = {name: part for name, part in parts.items() if isinstance(part, Mapping) or is_module(part)}
    first = next((name for name in WRAPPINGS if name in states), None)
    state = content if first is None else states[first]
    if options is not None and first is not None and (arrays := _arrays_of(state)):
        fitting = {first: state}
        for name, part in states.items():
            alike = {key: array for key, array in _arrays_of(part).items() if key in arrays}
            if len(alike) == len(arrays) and any(alike[key].tobytes() != arrays[key].tobytes() for key in arrays):
                fitting[name] = part
        said = options.resolve("state", None, "") if len(fitting) > 1 else None
        state, _ = choose("state_dict", fitting, "the option state=NAME", said=said, where=file, error=CheckpointError)
    return dict(_of_module(state, "", set())) if is_module(state) else state


def _arrays_of(state: Any) -> dict[str, Any]:
    parts = state.items() if isinstance(state, Mapping) else ()
    return {str(name): part for name, part in parts if isinstance(part, np.ndarray)}


def is_module(content: Any) -> TypeGuard[StubObject]:
    """Whether unpickled content is a PyTorch module."""
    return isinstance(content, StubObject) and content.is_module


def _of_module(module: StubObject, prefix: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of a pickled module, as its ``state_dict`` names them; one that leads to itself is read once.

    A ``max_norm``, to which vectors are cut, and parts that are no arrays are yielded as one number: no formula uses
    it, so the model is refused.
    """
    seen.add(id(module))
    tables = [module.state.get(name) for name in ("_parameters", "_buffers", "_modules")]
    parts = [part for table in tables if isinstance(table, dict) for part in table.items()]
    for name, part in [*parts, ("max_norm", module.state.get("max_norm"))]:
        if is_module(part) and prefix.count(".") < DEEPEST_MODULE:
            yield from _of_module(part, f"{prefix}{name}.", seen) if id(part) not in seen else ()
        elif part is not None:
            yield f"{prefix}{name}", part if isinstance(part, np.ndarray) else np.zeros(())


def names_in(path: Path) -> frozenset[str]:
    """Collect the names of arrays in an archive or all strings in pickles; tensors are named as in :class:`Tensors`."""
    words = array_names(path) if path.suffix in ARRAYS else pickle_strings(path)
    return frozenset(word.removeprefix(PARALLEL) for word in words)
