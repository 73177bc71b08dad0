"""Models of the code of three papers, kbc, tkbc and RotatE: tables of tensors, a reader for each.

``load_checkpoint`` calls the readers: a path and the user's options become a ``Checkpoint``.

The files and formulas
----------------------
Models of facebookresearch/kbc and tkbc are trained with reciprocal relations. The scripts save nothing; a
``state_dict`` is what their users save. The labels are in ``ent_id``, ``rel_id`` and ``ts_id``; without them, ids are
those of the sorted labels of all splits, as the code gives them. tkbc's ComplEx without times has the same tensors as
kbc's ComplEx, and is read as this.

The RotatE code, and OGB's examples that grew out of it, write ``config.json``, which names the model, ``checkpoint``,
and the tables as ``.npy`` files, from which a folder without a ``checkpoint`` is read. γ is the same for every
candidate, so no rank depends on it. Phases are stored in units of the range of the embeddings; this is in the
checkpoint, or follows from γ and the width of the relations.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.arrays import FloatArray
from kgeval.base.errors import CheckpointError
from kgeval.base.pickled import PICKLED, read_pickled
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.labels import labelled_checkpoint
from kgeval.models.checkpoints.locate import folder_of, settings_in
from kgeval.models.checkpoints.mapped_arrays import NUMPY, mapped_array
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.checkpoints.state_dict_format import Model, StateDictFormat, Take, describe, halves, holds, named
from kgeval.models.checkpoints.tensors import Tensors, names_in
from kgeval.models.families.bilinear import CP, DistMult
from kgeval.models.families.complex import ComplEx, PRotatE, RotatE, TComplEx, TNTComplEx
from kgeval.models.families.translations import TransE

ENTITY, RELATION, TIME, TIMELESS = (f"embeddings.{index}.weight" for index in range(4))

STATIC = (frozenset({"lhs.weight", "rel.weight", "rhs.weight"}), frozenset({ENTITY, RELATION}))
"""the tensors of a CP and of a ComplEx"""

TEMPORAL = frozenset({ENTITY, RELATION, TIME})

KBC_TABLES: dict[str, Any] = {"entity": named(ENTITY), "relation": named(RELATION)}

KBC = StateDictFormat(
    name="kbc",
    framework="kbc",
    summary="a state_dict of a CP or ComplEx of facebookresearch/kbc (.pt), ent_id and rel_id beside it",
    what="state_dict of a kbc model",
    files=(lambda file: holds({".pt", ".pth", ".pkl", ".model"}, *STATIC)(file) and TIME not in names_in(file),),
    models={
        "CP": Model(CP, {"entity": halves("lhs.weight", "rhs.weight"), "relation": named("rel.weight")}, "lhs.weight"),
        "ComplEx": Model(ComplEx, KBC_TABLES),
    },
    numbering="sorted",
    reciprocal=True,
    known_by=STATIC,
).reader()

TKBC = StateDictFormat(
    name="tkbc",
    framework="tkbc",
    summary="a state_dict of a TComplEx or TNTComplEx of facebookresearch/tkbc (.pt); ent_id, rel_id, ts_id beside it",
    what="state_dict of a tkbc model",
    files=(holds(PICKLED, TEMPORAL),),
    models={
        "TNTComplEx": Model(TNTComplEx, KBC_TABLES | {"time": named(TIME), "timeless": named(TIMELESS)}, TIMELESS),
        "TComplEx": Model(TComplEx, KBC_TABLES | {"time": named(TIME)}),
    },
    numbering="sorted",
    reciprocal=True,
    known_by=(TEMPORAL,),
).reader()

ROTATE_FILE, CONFIG = "checkpoint", "config.json"

ROTATE_ARRAYS = ("entity_embedding.npy", "relation_embedding.npy")
"""the arrays that the code writes beside the checkpoint, which users may have lost"""


PROTATE_PI = 3.14159262358979323846
"""π as the code has it for pRotatE, wrong in the eighth digit"""


def _phases(name: str, pi: float = np.pi) -> Take:
    return Take(f"{name} / (embedding_range / π)", lambda tensors: tensors.phases(name, "embedding_range", pi))


PROTATE_ENTITY = _phases("entity_embedding", PROTATE_PI)


def _protate_entity(tensors: Tensors) -> FloatArray:
    """A trained modulus multiplies the distance. No rank depends on it, as long as it is positive."""
    modulus = tensors.number("modulus")
    if modulus is None or not modulus > 0:
        raise CheckpointError(f"{tensors.path}: its modulus is {modulus}; expected a positive number.")
    return PROTATE_ENTITY.make(tensors)


ROTATE_TABLES: dict[str, Any] = {kind: named(f"{kind}_embedding") for kind in ("entity", "relation")}

PHASES = {"relation": _phases("relation_embedding"), "norm": 1}

PROTATE = {"entity": Take(PROTATE_ENTITY.text, _protate_entity), "relation": _phases("relation_embedding", PROTATE_PI)}

ROTATE_MODELS = {
    "TransE": Model(TransE, ROTATE_TABLES | {"norm": 1}),
    "DistMult": Model(DistMult, ROTATE_TABLES),
    "ComplEx": Model(ComplEx, ROTATE_TABLES),
    "RotatE": Model(RotatE, ROTATE_TABLES | PHASES, records="embedding_range"),
    "pRotatE": Model(PRotatE, PROTATE, records="embedding_range"),
}


def read_rotate(path: Path, options: Options) -> Checkpoint:
    """Read a model, its name from ``config.json`` beside it or from the option ``model``."""
    folder = folder_of(path)
    file, config = folder / ROTATE_FILE if path.is_dir() or path.suffix == NUMPY else path, folder / CONFIG
    files = [file] if file.is_file() else [folder / table for table in ROTATE_ARRAYS]
    settings = settings_in(config) if config.is_file() else {}
    files += [config] if config.is_file() else []
    name = options.require("model", settings.get("model"), files[-1].name, list(ROTATE_MODELS))
    tensors = _checkpoint(file) if file.is_file() else _arrays(files, name, settings, options)
    family = ROTATE_MODELS[name].build(name, "RotatE", tensors, options, "gamma", "embedding_range", "modulus")
    return labelled_checkpoint(family, "rotate", files, options, numbering="files", layouts=("rotate", "ogb"))


def _is_rotate(path: Path) -> bool:
    file, folder = path / ROTATE_FILE if path.is_dir() else path, folder_of(path)
    if not file.is_file() or path.name in ROTATE_ARRAYS:
        return all((folder / name).is_file() for name in ROTATE_ARRAYS)
    return {"model_state_dict", "entity_embedding", "relation_embedding"} <= names_in(file)


ROTATE = Reader(
    name="rotate",
    summary="a folder of the RotatE code or an OGB example (config.json; checkpoint or .npy), or its checkpoint",
    recognises=_is_rotate,
    read=read_rotate,
    known_by=(
        frozenset({"entity_embedding", "relation_embedding"}),
        frozenset({ROTATE_FILE, CONFIG}),
        frozenset(ROTATE_ARRAYS),
    ),
    models=describe(ROTATE_MODELS),
)


def _checkpoint(file: Path) -> Tensors:
    content = read_pickled(file)
    if not isinstance(content, dict) or "model_state_dict" not in content:
        raise CheckpointError(f"{file}: holds no model_state_dict. Give the checkpoint that the RotatE code wrote.")
    return Tensors(file, content["model_state_dict"])


def _arrays(files: list[Path], name: str, settings: dict[str, Any], options: Options) -> Tensors:
    """Take the arrays that the code writes beside the checkpoint; the range is float32, as in the checkpoint."""
    arrays = {file.stem: mapped_array(file) for file in files if file.suffix == NUMPY}
    if ROTATE_MODELS[name].records:
        extent = np.float32(embedding_range(files[-1], arrays["relation_embedding"], settings, options))
        arrays |= {"embedding_range": np.array([extent]), "modulus": np.array([extent / 2])}
    return Tensors(files[-1], arrays)


ADDED_TO_GAMMA = 2.0
"""the number that the RotatE code and DGL-KE add to γ"""


def embedding_range(where: Path, relation: FloatArray, settings: Mapping[str, Any], options: Options) -> float:
    """Return the range of the embeddings of the RotatE code and DGL-KE, in whose units phases are stored.

    It is (γ + 2) / the width of the relations. The settings or the user give γ as ``gamma``, and may give the width as
    ``hidden_dim``.
    """
    gamma, width = options.resolve("gamma", settings.get("gamma"), where.name), relation.shape[1]
    if not isinstance(gamma, int | float) or isinstance(gamma, bool) or not gamma:
        cure = "Give the option gamma=NUMBER." if gamma is None else ""
        raise CheckpointError(f"{where}: gamma is {gamma!r:.60}; expected a number. {cure}".strip())
    if (named := options.resolve("hidden_dim", settings.get("hidden_dim"), where.name)) not in (None, width):
        fault = f"hidden_dim is {named!r:.60}, but the relations have {width} columns"
        raise CheckpointError(f"{where}: {fault}. The unit of phases depends on it: correct what is wrong.")
    return float((gamma + ADDED_TO_GAMMA) / width)
