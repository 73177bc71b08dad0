"""Models of the RotatE code, and of OGB's examples that grew out of it: ``config.json`` and ``checkpoint``.

The configuration names the model. γ is the same for every candidate and no matter to a rank; the range of the
embeddings, in whose units phases are stored, is in the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import Float64Array, FloatArray
from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.shared.locate import find_labels, folder_of
from kgeval.checkpoints.shared.tensors import Tensors, names_in
from kgeval.errors import CheckpointError
from kgeval.files.opening import read_json
from kgeval.pickles.pickled import read_torch
from kgeval.scorers.families.bilinear import DistMult
from kgeval.scorers.families.complex import ComplEx
from kgeval.scorers.families.rotations import PRotatE, RotatE
from kgeval.scorers.families.translations import TransE
from kgeval.scorers.family import Family

FILE = "checkpoint"

PI = 3.14159265358979323846
PROTATE_PI = 3.14159262358979323846
"""π as the code has it for pRotatE, wrong in the eighth digit"""


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model, its name from ``config.json`` beside it or from the option ``model``."""
    file = path / FILE if path.is_dir() else path
    content = read_torch(file)
    if not isinstance(content, dict) or "model_state_dict" not in content:
        raise CheckpointError(f"{file}: holds no model_state_dict. Give the checkpoint that the RotatE code wrote.")
    tensors = Tensors(file, content["model_state_dict"])
    config = folder_of(file) / "config.json"
    name = options.require("model", _model_name(config), config.name if config.is_file() else file.name, list(MODELS))
    family = MODELS[name](tensors.matrix("entity_embedding"), tensors.matrix("relation_embedding"), tensors)
    if name in {"RotatE", "pRotatE"}:
        options.resolve("embedding_range", tensors.number("embedding_range"), file.name)
    options.record_origins(family, "RotatE")
    tensors.refuse_unused(name, "gamma", "embedding_range", "modulus")
    found = find_labels(folder_of(file), options)
    files = [file, config] if config.is_file() else [file]
    return found.checkpoint(family, "rotate", files, options, numbering="files", layouts=("rotate", "ogb"))


def _model_name(config: Path) -> str | None:
    if not config.is_file():
        return None
    try:
        name = read_json(config).get("model")
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{config}: cannot be read ({error}).") from error
    return None if name is None else str(name)


def phases(array: FloatArray, tensors: Tensors, pi: float = PI) -> Float64Array:
    extent = tensors.number("embedding_range")
    if not extent:
        raise CheckpointError(f"{tensors.path}: the tensor 'embedding_range' is missing or zero: phases have no unit.")
    return np.asarray(array, np.float64) / (extent / pi)


def _protate(entity: FloatArray, relation: FloatArray, tensors: Tensors) -> Family:
    """A trained modulus multiplies the distance: it is no matter to a rank as long as it is positive."""
    modulus = tensors.number("modulus")
    if modulus is None or not modulus > 0:
        raise CheckpointError(
            f"{tensors.path}: its modulus is {modulus}, so that its scores grow with the distance; expected a positive "
            "number."
        )
    return PRotatE(phases(entity, tensors, PROTATE_PI), phases(relation, tensors, PROTATE_PI))


MODELS: dict[str, Callable[[Any, Any, Tensors], Family]] = {
    "TransE": lambda entity, relation, _: TransE(entity, relation, 1),
    "DistMult": lambda entity, relation, _: DistMult(entity, relation),
    "ComplEx": lambda entity, relation, _: ComplEx(entity, relation),
    "RotatE": lambda entity, relation, tensors: RotatE(entity, phases(relation, tensors), 1),
    "pRotatE": _protate,
}


def _fits(file: Path) -> bool:
    return file.is_file() and {"model_state_dict", "entity_embedding", "relation_embedding"} <= names_in(file)


READER = Reader(
    name="rotate",
    summary="a folder of the RotatE code or an OGB example (checkpoint, config.json), or its checkpoint",
    recognises=lambda path: _fits(path / FILE if path.is_dir() else path),
    read=read,
    known_by=(frozenset({"entity_embedding", "relation_embedding"}), frozenset({FILE, "config.json"})),
)
