"""A model made of named arrays, if the file or the user, and not a framework's format, says which family it is.

Called by the readers of the native format, of a user's state_dict and of word2vec. Arrays and the user's options go in;
a ``Family`` comes out, in a ``Reciprocal`` if it has inverse relations.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from kgeval.base.arrays import FloatArray
from kgeval.base.errors import CheckpointError, UsageError
from kgeval.models.checkpoints.locate import naming
from kgeval.models.checkpoints.number_orders import in_order
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.tensors import COUNTERS, Tensors
from kgeval.models.family import Family, family
from kgeval.models.mapped import Reciprocal


def model_of_named(tensors: Tensors, options: Options, **said: Any) -> Family | Reciprocal:
    """Make a model of tensors: an array is the tensor that an option names, or else the tensor with the array's name.

    The option of an array's name (``entity=ent.weight``) gives the name of a tensor, or several names with commas
    between them, whose tensors are put side by side. The option ``ignored`` names tensors that no score depends on; any
    other unused tensor is refused. ``said`` is what the file says, by the keywords of :func:`model_of_arrays`.
    """
    file, kind = tensors.path, options.given("model", said.get("model"))
    arrays = ["entity", "relation"] if kind is None else family(str(kind)).array_names()
    names = {array: str(options.resolve(array, None, file.name) or array) for array in arrays}
    ignored = str(options.resolve("ignored", None, file.name) or "").split(",")
    taken = {
        array: tensors.get(name) if name in tensors else tensors.side_by_side(*name.split(","))
        for array, name in names.items()
        if name != array or name in tensors
    }
    if missing := [array for array in ("entity", "relation") if array not in taken]:
        held = ", ".join(f"{name} {list(np.shape(tensors.get(name)))}" for name in tensors) or "no arrays"
        give = " ".join(f"--option {array}=NAME" for array in missing)
        expected = f"expected arrays named {' and '.join(missing)}. Or name them: {give}"
        raise CheckpointError(f"{file}: holds {held}; {expected}")
    built = model_of_arrays(file, taken, options, **said)
    cure = " If no score depends on it, name it: the option ignored=NAME,NAME."
    tensors.refuse_unused(str(options.resolved["model"]), COUNTERS, *ignored, cure=cure)
    return built


def model_of_arrays(
    file: Path,
    arrays: Mapping[str, FloatArray],
    options: Options,
    *,
    model: str | None = None,
    stored: Mapping[str, Any] = MappingProxyType({}),
    reciprocal: bool | None = None,
) -> Family | Reciprocal:
    """Make the model that the option ``model`` or the file names.

    ``arrays`` have the family's names; ``model``, ``stored`` (its options) and ``reciprocal`` are what the file says.
    """
    name = options.resolve("model", model, file.name)
    if name is None:
        cure = "Give the option model=MODEL, for example model=TransE; 'kgeval list models' shows all."
        raise UsageError(f"{file} does not say which model it is. {cure}")
    kind = family(str(name))
    # An option that is stored and that the family does not have is refused where the family is built.
    keys = dict.fromkeys([*kind.option_names(), *stored])
    chosen = {key: options.resolve(key, stored.get(key), file.name) for key in keys}
    inverse = options.resolve("reciprocal", reciprocal, file.name)
    if inverse not in (None, True, False):
        raise UsageError(f"{file}: reciprocal={inverse!r}: expected true or false.")
    with naming(file):
        built = kind.build(arrays, {key: value for key, value in chosen.items() if value is not None})
        ordered = in_order(Reciprocal(built) if inverse else built, options, file.name)
        if isinstance(ordered, Family):
            ordered.refuse_heads()
    return ordered
