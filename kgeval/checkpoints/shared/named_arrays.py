"""A model of any family from arrays under the family's own names; its name and options are the user's or the file's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kgeval.arrays import FloatArray
from kgeval.checkpoints.options import Options
from kgeval.errors import CheckpointError, UsageError
from kgeval.scorers.family import Family, families, family
from kgeval.scorers.wrappers.reciprocal import Reciprocal


def model_of_arrays(
    file: Path,
    arrays: Mapping[str, FloatArray],
    options: Options,
    *,
    model: str | None = None,
    stored: Mapping[str, Any] = MappingProxyType({}),
    reciprocal: bool | None = None,
) -> Family | Reciprocal:
    """Make the model that the option ``model`` names, or the file.

    Parameters
    ----------
    file
        where the arrays come from, for messages
    arrays
        the arrays, by the family's names
    options
        what the user says: ``model``, the family's options, ``reciprocal``
    model, stored, reciprocal
        what the file says of these

    Raises
    ------
    UsageError
        if nothing says which model it is, or an option of its formula is missing
    CheckpointError
        if the arrays do not fit the model
    """
    name = options.resolve("model", model, file.name)
    if name is None:
        raise UsageError(
            f"{file} does not say which model it is: give the option model, one of {', '.join(families())}."
        )
    kind = family(str(name))
    for key in stored:
        if key not in kind.option_names():
            raise CheckpointError(f"{file}: it stores the option {key!r}, which {kind.name} does not have.")
    chosen = {key: options.resolve(key, stored.get(key), file.name) for key in kind.option_names()}
    inverse = options.resolve("reciprocal", reciprocal, file.name)
    if inverse not in (None, True, False):
        raise UsageError(f"{file}: reciprocal={inverse!r}: expected true or false.")
    try:
        built = kind.build(arrays, {key: value for key, value in chosen.items() if value is not None})
        if not inverse:
            built.refuse_heads()
    except CheckpointError as error:
        raise type(error)(f"{file}: {error}") from error
    return Reciprocal(built) if inverse else built
