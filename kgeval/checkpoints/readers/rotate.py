"""Models of the RotatE code, and of OGB's examples that grew out of it: ``config.json`` and ``checkpoint``.

The configuration names the model. γ is the same for every candidate and no matter to a rank; the range of the
embeddings, in whose units phases are stored, is in the checkpoint.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import Float64Array, FloatArray
from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.shared.locate import find_labels, folder_of
from kgeval.checkpoints.shared.state_dict_format import Model, Take, describe, named
from kgeval.checkpoints.shared.tensors import Tensors, names_in
from kgeval.errors import CheckpointError
from kgeval.files.opening import read_json
from kgeval.pickles.pickled import read_torch
from kgeval.scorers.families.bilinear import DistMult
from kgeval.scorers.families.complex import ComplEx, PRotatE, RotatE
from kgeval.scorers.families.translations import TransE

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
    family = MODELS[name].build(name, "RotatE", tensors, options, "gamma", "embedding_range", "modulus")
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


def _phases(name: str, pi: float = PI) -> Take:
    def make(tensors: Tensors) -> Float64Array:
        array, extent = tensors.matrix(name), tensors.number("embedding_range")
        if not extent:
            raise CheckpointError(
                f"{tensors.path}: the tensor 'embedding_range' is missing or zero: phases have no unit."
            )
        return np.asarray(array, np.float64) / (extent / pi)

    return Take(f"{name} / (embedding_range / π)", make)


def _protate_entity(tensors: Tensors) -> FloatArray:
    """A trained modulus multiplies the distance: it is no matter to a rank as long as it is positive."""
    modulus = tensors.number("modulus")
    if modulus is None or not modulus > 0:
        raise CheckpointError(
            f"{tensors.path}: its modulus is {modulus}, so that its scores grow with the distance; expected a positive "
            "number."
        )
    return PROTATE_ENTITY(tensors)


PROTATE_ENTITY = _phases("entity_embedding", PROTATE_PI)


TABLES: dict[str, Any] = {kind: named(f"{kind}_embedding") for kind in ("entity", "relation")}
PHASES = {"relation": _phases("relation_embedding"), "norm": 1}
PROTATE = {"entity": Take(PROTATE_ENTITY.text, _protate_entity), "relation": _phases("relation_embedding", PROTATE_PI)}

MODELS = {
    "TransE": Model(TransE, TABLES | {"norm": 1}),
    "DistMult": Model(DistMult, TABLES),
    "ComplEx": Model(ComplEx, TABLES),
    "RotatE": Model(RotatE, TABLES | PHASES, records="embedding_range"),
    "pRotatE": Model(PRotatE, PROTATE, records="embedding_range"),
}


def _recognises(path: Path) -> bool:
    file = path / FILE if path.is_dir() else path
    return file.is_file() and {"model_state_dict", "entity_embedding", "relation_embedding"} <= names_in(file)


READER = Reader(
    name="rotate",
    summary="a folder of the RotatE code or an OGB example (checkpoint, config.json), or its checkpoint",
    recognises=_recognises,
    read=read,
    known_by=(frozenset({"entity_embedding", "relation_embedding"}), frozenset({FILE, "config.json"})),
    models=describe(MODELS),
)
