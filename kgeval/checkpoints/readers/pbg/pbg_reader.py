"""PyTorch-BigGraph's models: HDF5 files of the version that ``checkpoint_version.txt`` names, and their configuration.

With dynamic relations every relation has an operator for heads and one for tails, and each side's queries use their
own; without, one operator for tails. A maximal norm and a global embedding are applied to the entities when they are
read. Needs h5py: the extra ``kgeval[pbg]``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.readers.pbg.pbg_model import (
    CONFIG,
    PARAMETERS,
    VERSION,
    PBGModel,
    entity_path,
    read_model,
    read_names,
    relation_names,
)
from kgeval.checkpoints.shared.locate import find_checkpoint_folder
from kgeval.checkpoints.shared.shapes import check_shape
from kgeval.checkpoints.shared.tensors import check_same_rows
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import CheckpointError
from kgeval.files.hdf5_files import Arrays, open_hdf5
from kgeval.paths import exists_safely
from kgeval.scorers.families.products.biggraph import BigGraph
from kgeval.scorers.families.products.complex import ComplEx
from kgeval.scorers.families.products.distmult import DistMult
from kgeval.scorers.families.products.rescal import RESCAL
from kgeval.scorers.family import Family
from kgeval.scorers.numerics.ordered import norms_column
from kgeval.scorers.wrappers.reciprocal import Reciprocal

BILINEAR: dict[str, Callable[[Any, Any], Family]] = {"diagonal": DistMult, "linear": RESCAL}
"""the families that are equivalent to a static operator with a dot product"""

SLACK = 1e-7
"""the number that PyTorch adds to a norm before it divides by it"""


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model; its labels lie in the ``entity_path`` of its configuration, or in the folder of option ``labels``.

    Raises
    ------
    CheckpointError
        if h5py or a file is missing, if a file is damaged, or if entities are of several types
    """
    folder = _folder(path)
    if folder is None:
        raise CheckpointError(f"{str(path)!r}: holds no checkpoint of PyTorch-BigGraph.")
    model = read_model(folder)
    entity = _entities(model)
    relation = _relation(model, entity.shape[1])
    for name, value in (("operator", model.operator), ("comparator", model.config["comparator"])):
        options.resolve(name, value, CONFIG)
    options.resolve("dynamic_relations", model.dynamic, CONFIG)
    options.resolve("bias", model.bias, CONFIG)
    family = _family(model, entity, relation)
    options.record_origins(family, "PyTorch-BigGraph", operand="dynamic_relations")
    entities, relations, files = _labels(model, options)
    return Checkpoint(
        Reciprocal(family) if model.dynamic else family,
        "pbg",
        (folder / CONFIG, folder / VERSION, model.file("model"), *model.embeddings, *files),
        entities,
        relations,
        options.origins,
        name=f"{model.operator}, {model.config['comparator']}",
        numbering="files",
        layouts=("pbg",),
    )


def _family(model: PBGModel, entity: FloatArray, relation: FloatArray) -> Family:
    """Make the family of a model: an equivalent one of vectors for a static operator with a dot product."""
    if not model.dynamic and model.config["comparator"] == "dot" and not model.bias:
        if model.operator == "complex_diagonal":
            # A real dot product of h and r∘t, as Re Σ h conj(r) conj(t).
            real, imaginary = np.split(relation, 2, axis=1)
            return ComplEx(entity, np.concatenate([real, -imaginary], axis=1))
        if model.operator in BILINEAR:
            return BILINEAR[model.operator](entity, relation)
    options = {
        "operator": model.operator,
        "comparator": model.config["comparator"],
        "operand": "head" if model.dynamic else "tail",
        "bias": model.bias,
    }
    return BigGraph.build({"entity": entity, "relation": relation}, options)


def _relation(model: PBGModel, width: int) -> FloatArray:
    """Read the parameters of the operators, one row per relation; of dynamic ones those of heads, then of tails."""
    shapes = {name: shape(width) for name, shape in PARAMETERS[model.operator].items()}
    if not shapes:
        count = len(relation_names(model, None)) if model.dynamic else len(model.config["relations"])
        return np.zeros((2 * count if model.dynamic else count, 1), np.float32)
    with open_hdf5(model.file("model")) as file:
        if not model.dynamic:
            count = len(model.config["relations"])
            return np.stack([_parameters(file, f"{index}/operator/rhs", shapes) for index in range(count)])
        plural = {name if name in {"real", "imag"} else f"{name}s": shape for name, shape in shapes.items()}
        heads = _parameters(file, "0/operator/lhs", plural, None)
        return np.concatenate([heads, _parameters(file, "0/operator/rhs", plural, len(heads))])


def _parameters(file: Arrays, place: str, shapes: dict[str, tuple[int, ...]], *rows: int | None) -> FloatArray:
    """Read and concatenate an operator's parameters, as one row or as a table with a row per relation."""
    arrays = [_array(file, f"model/relations/{place}/{name}", *rows, *shape) for name, shape in shapes.items()]
    flat = [array.reshape(*array.shape[: len(rows)], -1) for array in arrays]
    if rows:
        check_same_rows(file.path, flat)
    return np.concatenate(flat, axis=-1)


def _entities(model: PBGModel) -> FloatArray:
    """Read the entities, with the maximal norm and the global embedding applied."""
    parts: list[FloatArray] = []
    for path in model.embeddings:
        with open_hdf5(path) as file:
            parts.append(_array(file, "embeddings", None, parts[0].shape[1] if parts else None))
    entity: FloatArray = np.concatenate(parts)
    most = model.config.get("max_norm")
    if most is not None:
        norms = norms_column(np.asarray(entity, np.float64))
        entity = np.where(norms > most, entity * (most / (norms + SLACK)), entity)
    if model.truth_value("global_emb") and not model.dynamic:
        with open_hdf5(model.file("model")) as file:
            place = f"model/entities/{model.kind}/global_embedding"
            entity = np.asarray(entity, np.float64) + _array(file, place, entity.shape[1])
    return entity


def _array(file: Arrays, name: str, *shape: int | None) -> FloatArray:
    """Read an array of floating-point numbers, of that shape."""
    array = file.read(name)
    if array.dtype.kind != "f":
        raise CheckpointError(f"{file.path}: {name!r} is {array.dtype} {array.shape}; expected floating-point numbers.")
    try:
        return check_shape(name, array, *shape)
    except CheckpointError as error:
        raise CheckpointError(f"{file.path}: {error}") from error


def _labels(model: PBGModel, options: Options) -> tuple[Vocabulary | None, Vocabulary | None, tuple[Path, ...]]:
    option = options.resolve("labels", None, "")
    folder = entity_path(model) if option is None else Path(str(option))
    files = [folder / f"entity_names_{model.kind}_{part}.json" for part in range(model.parts)]
    if not all(exists_safely(file) and file.is_file() for file in files):
        if option is not None:
            raise CheckpointError(f"labels={str(option)!r} is no folder with {files[0].name} in it.")
        return None, _vocabulary([] if model.dynamic else relation_names(model, None), "relation"), ()
    entities = [label for file in files for label in read_names(file)]
    rest = [folder / "dynamic_rel_names.json"] if model.dynamic else []
    return _vocabulary(entities, "entity"), _vocabulary(relation_names(model, folder), "relation"), (*files, *rest)


def _vocabulary(labels: list[str], kind: str) -> Vocabulary | None:
    return Vocabulary(labels, kind) if labels else None


def _folder(path: Path) -> Path | None:
    return find_checkpoint_folder(path, lambda folder: (folder / VERSION).is_file() and (folder / CONFIG).is_file())


READER = Reader(
    name="pbg",
    summary="a checkpoint folder of PyTorch-BigGraph (checkpoint_version.txt, config.json, *.h5); needs kgeval[pbg]",
    recognises=lambda path: _folder(path) is not None,
    read=read,
    known_by=(frozenset({VERSION, CONFIG}),),
)
