"""DGL-KE's models. They are no table of tensors: ``config.json`` names an ``.npy`` for each array, and scales phases.

The arrays are those of entities, of relations, and of TransR's projections. γ is the same for every candidate and no
matter to a rank. SimplE's scores are read without the clamp of DGL-KE's own evaluation, which its inference does not
have.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.shared.locate import find_labels, folder_of
from kgeval.checkpoints.shared.mapped_arrays import mapped_array
from kgeval.errors import CheckpointError, FileError
from kgeval.files.opening import read_json
from kgeval.scorers.families.bilinear import RESCAL, DistMult, SimplE
from kgeval.scorers.families.complex import ComplEx, RotatE
from kgeval.scorers.families.projections import TransR
from kgeval.scorers.families.translations import TransE
from kgeval.scorers.family import Family

CONFIG = "config.json"

RANGE = 2.0
"""what DGL-KE adds to γ for the range of its embeddings"""


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model, whose name and dataset in ``config.json`` are those of its arrays' files."""
    folder = folder_of(path)
    config = _config(folder)
    if config is None:
        raise CheckpointError(f"{folder / CONFIG}: not a configuration of DGL-KE.")
    name = options.require("model_name", config["model_name"], CONFIG, list(FAMILIES))
    prefix = f"{config['dataset']}_{name}"
    arrays = {kind: mapped_array(folder / f"{prefix}_{kind}.npy") for kind in ("entity", "relation")}
    if name == "TransR":
        arrays["projection"] = mapped_array(folder / f"{prefix}projection.npy")
    if name == "RotatE":
        gamma, width = (_number(folder, config, key) for key in ("gamma", "hidden_dim"))
        extent = (gamma + RANGE) / width
        arrays["relation"] = np.asarray(arrays["relation"], np.float64) / (extent / np.pi)
    family = FAMILIES[name](**arrays)
    for key in ("gamma", "hidden_dim") if name == "RotatE" else ():
        options.resolve(key, config[key], CONFIG)
    options.record_origins(family, "DGL-KE", **({"norm": "model_name"} if name.startswith("TransE_") else {}))
    files = (folder / CONFIG, *sorted(folder.glob(f"{prefix}*.npy")))
    layouts = ("rotate", "ogb")
    return find_labels(folder, options).checkpoint(
        family, "dgl-ke", files, options, name=name, numbering="files", layouts=layouts
    )


FAMILIES: dict[str, Callable[..., Family]] = {
    "TransE": partial(TransE, norm=2),
    "TransE_l1": partial(TransE, norm=1),
    "TransE_l2": partial(TransE, norm=2),
    "DistMult": DistMult,
    "ComplEx": ComplEx,
    "RESCAL": RESCAL,
    "RotatE": partial(RotatE, norm=1),
    "SimplE": SimplE,
    "TransR": partial(TransR, norm=1, normalization="none"),
}


def _number(folder: Path, config: dict[str, Any], name: str) -> float:
    value = config[name]
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not value:
        raise CheckpointError(f"{folder / CONFIG}: {name} is {value!r}; expected a number.")
    return float(value)


def _config(folder: Path) -> dict[str, Any] | None:
    try:
        config = read_json(folder / CONFIG)
    except (OSError, ValueError, RecursionError, FileError):
        return None
    complete = isinstance(config, dict) and {"model_name", "dataset", "hidden_dim", "gamma"} <= config.keys()
    return config if complete else None


def _recognises(path: Path) -> bool:
    folder = folder_of(path)
    inside = path.is_dir() or (path.suffix == ".npy" and path.stem.endswith(("_entity", "_relation")))
    return inside and (folder / CONFIG).is_file() and _config(folder) is not None


READER = Reader(
    name="dgl-ke",
    summary="a folder of DGL-KE (config.json, <dataset>_<model>_entity.npy, …_relation.npy)",
    recognises=_recognises,
    read=read,
)
