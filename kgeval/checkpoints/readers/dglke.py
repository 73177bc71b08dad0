"""DGL-KE's models: ``config.json``, and one ``.npy`` each for entities, relations and TransR's projections.

γ is the same for every candidate and no matter to a rank. SimplE's scores are read without the clamp of DGL-KE's own
evaluation, which its inference does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.shared.locate import find_labels, folder_of
from kgeval.checkpoints.shared.mapped_arrays import mapped_array
from kgeval.errors import CheckpointError, FileError
from kgeval.files.opening import read_json
from kgeval.scorers.families.bilinear import RESCAL, DistMult, SimplE
from kgeval.scorers.families.complex import ComplEx
from kgeval.scorers.families.projections import TransR
from kgeval.scorers.families.rotations import RotatE
from kgeval.scorers.families.translations import TransE
from kgeval.scorers.family import Family

RANGE = 2.0
"""what DGL-KE adds to γ for the range of its embeddings"""


@dataclass(frozen=True)
class DGLKEFiles:
    folder: Path
    prefix: str
    """``<dataset>_<model>``"""
    config: dict[str, Any]

    @property
    def entity(self) -> FloatArray:
        return mapped_array(self.folder / f"{self.prefix}_entity.npy")

    @property
    def relation(self) -> FloatArray:
        return mapped_array(self.folder / f"{self.prefix}_relation.npy")

    def number(self, name: str) -> float:
        value = self.config.get(name)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not value:
            raise CheckpointError(f"{self.folder / 'config.json'}: {name} is {value!r}; expected a number.")
        return float(value)


def read(path: Path, options: Options) -> Checkpoint:
    folder = folder_of(path)
    config = _config(folder)
    if config is None:
        raise CheckpointError(f"{folder / 'config.json'}: not a configuration of DGL-KE.")
    name = options.require("model_name", config["model_name"], "config.json", list(MODELS))
    parts = DGLKEFiles(folder, f"{config['dataset']}_{name}", config)
    family = MODELS[name](parts)
    for key in ("gamma", "hidden_dim") if name == "RotatE" else ():
        options.resolve(key, config[key], "config.json")
    options.record_origins(family, "DGL-KE", **({"norm": "model_name"} if name.startswith("TransE_") else {}))
    files = (folder / "config.json", *sorted(folder.glob(f"{parts.prefix}*.npy")))
    layouts = ("rotate", "ogb")
    return find_labels(folder, options).checkpoint(
        family, "dgl-ke", files, options, name=name, numbering="files", layouts=layouts
    )


def _rotate(parts: DGLKEFiles) -> Family:
    extent = (parts.number("gamma") + RANGE) / parts.number("hidden_dim")
    return RotatE(parts.entity, np.asarray(parts.relation, np.float64) / (extent / np.pi), 1)


def _transr(parts: DGLKEFiles) -> Family:
    projection = mapped_array(parts.folder / f"{parts.prefix}projection.npy")
    return TransR(parts.entity, parts.relation, projection=projection, norm=1, normalization="none")


MODELS: dict[str, Callable[[DGLKEFiles], Family]] = {
    "TransE": lambda parts: TransE(parts.entity, parts.relation, 2),
    "TransE_l1": lambda parts: TransE(parts.entity, parts.relation, 1),
    "TransE_l2": lambda parts: TransE(parts.entity, parts.relation, 2),
    "DistMult": lambda parts: DistMult(parts.entity, parts.relation),
    "ComplEx": lambda parts: ComplEx(parts.entity, parts.relation),
    "RESCAL": lambda parts: RESCAL(parts.entity, parts.relation),
    "RotatE": _rotate,
    "SimplE": lambda parts: SimplE(parts.entity, parts.relation),
    "TransR": _transr,
}


def _config(folder: Path) -> dict[str, Any] | None:
    try:
        config = read_json(folder / "config.json")
    except (OSError, ValueError, RecursionError, FileError):
        return None
    complete = isinstance(config, dict) and {"model_name", "dataset", "hidden_dim", "gamma"} <= config.keys()
    return config if complete else None


def _recognises(path: Path) -> bool:
    folder = folder_of(path)
    inside = path.is_dir() or (path.suffix == ".npy" and path.stem.endswith(("_entity", "_relation")))
    return inside and (folder / "config.json").is_file() and _config(folder) is not None


READER = Reader(
    name="dgl-ke",
    summary="a folder of DGL-KE (config.json, <dataset>_<model>_entity.npy, …_relation.npy)",
    recognises=_recognises,
    read=read,
)
