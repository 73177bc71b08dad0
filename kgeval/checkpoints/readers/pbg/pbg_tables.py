"""The tables of a PyTorch-BigGraph checkpoint: the entities of a type, and the parameters of the operators."""

from __future__ import annotations

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.readers.pbg.pbg_model import PARAMETERS, PBGModel, relation_names
from kgeval.checkpoints.shared.shapes import check_shape
from kgeval.checkpoints.shared.tensors import check_same_rows
from kgeval.errors import CheckpointError
from kgeval.files.hdf5_files import Arrays, open_hdf5
from kgeval.scorers.numerics.ordered import norms_column

SLACK = 1e-7
"""the number that PyTorch adds to a norm before it divides by it"""


def entities_of(model: PBGModel, kind: str) -> FloatArray:
    """Read the entities of a type, with the maximal norm and the type's global embedding applied.

    Raises
    ------
    CheckpointError
        if a file is missing or damaged, or its rows have another width than those of another
    """
    parts: list[FloatArray] = []
    for path in model.embeddings(kind):
        with open_hdf5(path) as file:
            parts.append(_array(file, "embeddings", None, parts[0].shape[1] if parts else None))
    entity: FloatArray = np.concatenate(parts)
    most = model.config.get("max_norm")
    if most is not None:
        norms = norms_column(np.asarray(entity, np.float64))
        entity = np.where(norms > most, entity * (most / (norms + SLACK)), entity)
    if model.truth_value("global_emb") and not model.dynamic:
        with open_hdf5(model.file("model")) as file:
            place = f"model/entities/{kind}/global_embedding"
            entity = np.asarray(entity, np.float64) + _array(file, place, entity.shape[1])
    return entity


def operators_of(model: PBGModel, width: int) -> FloatArray:
    """Read the parameters of the operators, one row per relation; of dynamic ones those of heads, then of tails.

    Rows of operators of several kinds are filled up with zeros to the longest.

    Raises
    ------
    CheckpointError
        if the file is missing or damaged, or an operator is none on entities of the width
    """
    if model.operators == ["none"]:
        count = len(relation_names(model, None)) if model.dynamic else len(model.relations)
        return np.zeros((2 * count if model.dynamic else count, 1), np.float32)
    with open_hdf5(model.file("model")) as file:
        if model.dynamic:
            heads = _parameters(file, "0/operator/lhs", _shapes(model.operators[0], width, dynamic=True), None)
            tails = _parameters(file, "0/operator/rhs", _shapes(model.operators[0], width, dynamic=True), len(heads))
            return np.concatenate([heads, tails])
        operators = [_shapes(str(relation["operator"]), width) for relation in model.relations]
        rows = [_parameters(file, f"{index}/operator/rhs", shapes) for index, shapes in enumerate(operators)]
    widest = max(map(len, rows))
    return np.stack([np.pad(row, (0, widest - len(row))) for row in rows])


def _shapes(operator: str, width: int, *, dynamic: bool = False) -> dict[str, tuple[int, ...]]:
    """List the tensors of an operator; those of dynamic relations are in the plural, but for real and imag."""
    shapes = {name: shape(width) for name, shape in PARAMETERS[operator].items()}
    return {name if not dynamic or name in {"real", "imag"} else f"{name}s": shape for name, shape in shapes.items()}


def _parameters(file: Arrays, place: str, shapes: dict[str, tuple[int, ...]], *rows: int | None) -> FloatArray:
    """Read and concatenate an operator's parameters, as one row or as a table with a row per relation."""
    arrays = [_array(file, f"model/relations/{place}/{name}", *rows, *shape) for name, shape in shapes.items()]
    flat = [array.reshape(*array.shape[: len(rows)], -1) for array in arrays]
    if rows:
        check_same_rows(file.path, flat)
    return np.concatenate(flat, axis=-1) if flat else np.zeros(0, np.float32)


def _array(file: Arrays, name: str, *shape: int | None) -> FloatArray:
    """Read an array of floating-point numbers, of that shape."""
    array = file.read(name)
    if array.dtype.kind != "f":
        raise CheckpointError(f"{file.path}: {name!r} is {array.dtype} {array.shape}; expected floating-point numbers.")
    try:
        return check_shape(name, array, *shape)
    except CheckpointError as error:
        raise CheckpointError(f"{file.path}: {error}") from error
