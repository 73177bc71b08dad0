"""DGL-KE's and Marius's models: tables of vectors in files of their own, and a configuration beside them.

``load_checkpoint`` calls the readers: a path and the user's options become a ``Checkpoint``.

The files and formulas
----------------------
DGL-KE's ``config.json`` names an ``.npy`` for each array: entities, relations, and TransR's projections. Without it the
files' own names say the model, or the option ``model``. γ is the same for every candidate, so no rank depends on it; it
scales the phases of RotatE. SimplE's scores are read without the clamp of DGL-KE's own evaluation, which its inference
does not have.

Marius's nodes (entities) are raw numbers, and its relations lie in a TorchScript archive, of which nothing is executed.
With inverse edges, heads are predicted with the inverse relations. Marius ranks and trains its TransE so that larger
distances are more plausible, and so it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.arrays import FloatArray
from kgeval.base.errors import CheckpointError
from kgeval.base.files import checked, read_settings
from kgeval.base.pickled import read_pickled
from kgeval.base.settings_text import read_yaml
from kgeval.base.unpickle import StubObject
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.labels import labelled_checkpoint
from kgeval.models.checkpoints.locate import contains_file, find_checkpoint_file, folder_of, readable, settings_in
from kgeval.models.checkpoints.mapped_arrays import mapped_array
from kgeval.models.checkpoints.options import Options, truth_value
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.checkpoints.readers.paper_code import embedding_range
from kgeval.models.checkpoints.tensors import Tensors
from kgeval.models.families.bilinear import RESCAL, DistMult, SimplE
from kgeval.models.families.complex import ComplEx, RotatE
from kgeval.models.families.projections import TransR
from kgeval.models.families.translations import MariusTransE, TransE
from kgeval.models.family import Family

DGLKE_CONFIG = "config.json"

ENTITY, RELATION = "_entity.npy", "_relation.npy"
"""the endings of the names of a model's two tables"""


def read_dglke(path: Path, options: Options) -> Checkpoint:
    """Read a model: its arrays are named as ``config.json`` says, or without it by the model."""
    folder = folder_of(path)
    config = _dglke_config(folder)
    if (folder / DGLKE_CONFIG).is_file() and not config:
        raise CheckpointError(f"{folder / DGLKE_CONFIG}: not a configuration of DGL-KE.")
    files = [folder / DGLKE_CONFIG] if config else []
    first = f"{config['dataset']}_{config['model_name']}" if config else _dglke_name(path)
    where = DGLKE_CONFIG if config else f"{first}{ENTITY}"
    option = "model_name" if options.given("model_name") or (config and not options.given("model")) else "model"
    hint = next((name for name in DGLKE_FAMILIES if first.endswith(f"_{name}")), None)
    stored = config.get("model_name") or options.hinted(option, hint, where)
    name = options.require(option, stored, where, list(DGLKE_FAMILIES))
    arrays = {kind: mapped_array(folder / f"{first}_{kind}.npy") for kind in ("entity", "relation")}
    if name == "TransR":
        arrays["projection"] = mapped_array(folder / f"{first}projection.npy")
    if name == "RotatE":
        extent = embedding_range(folder / where, arrays["relation"], config, options)
        arrays["relation"] = np.asarray(arrays["relation"], np.float64) / (extent / np.pi)
    family = DGLKE_FAMILIES[name](**arrays)
    options.record_origins(family, "DGL-KE", **({"norm": option} if name.startswith("TransE_") else {}))
    files += sorted(folder.glob(f"{first}*.npy"))
    return labelled_checkpoint(family, "dglke", files, options, name=name, numbering="files", layouts=("rotate", "ogb"))


DGLKE = Reader(
    name="dglke",
    summary="a folder of DGL-KE (<dataset>_<model>_entity.npy, …_relation.npy, config.json if it is there)",
    recognises=lambda path: (path.is_dir() and bool(_dglke_config(path))) or contains_file(path, _is_table),
    read=read_dglke,
)


def _dglke_config(folder: Path) -> dict[str, Any]:
    """Read the configuration in a folder; empty without a complete one."""
    with suppress(CheckpointError):
        config = settings_in(folder / DGLKE_CONFIG)
        return config if {"model_name", "dataset", "hidden_dim", "gamma"} <= config.keys() else {}
    return {}


def _dglke_name(path: Path) -> str:
    """Return the common beginning of the names of a model's files."""
    file = find_checkpoint_file(path, [lambda file: file.name.endswith(ENTITY)], f"file …{ENTITY}")
    return file.name.removesuffix(ENTITY).removesuffix(RELATION)


def _is_table(file: Path) -> bool:
    """Whether a file is one of the two tables, and the other lies beside it."""
    first = file.name.removesuffix(ENTITY).removesuffix(RELATION)
    return first != file.name and all(file.with_name(first + end).is_file() for end in (ENTITY, RELATION))


DGLKE_FAMILIES: dict[str, Callable[..., Family]] = {
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

MARIUS_CONFIG, NODES, MODEL = "full_config.yaml", "embeddings.bin", "model.pt"

DECODERS: dict[str, Callable[[Any, Any], Family]] = {"DISTMULT": DistMult, "COMPLEX": ComplEx, "TRANSE": MariusTransE}


def read_marius(path: Path, options: Options) -> Checkpoint:
    """Read a model as ``full_config.yaml`` describes it, with its inverse relations if it has any."""
    folder = folder_of(path)
    config = folder / MARIUS_CONFIG
    with readable(config, "configuration of Marius"):
        decoder = read_yaml(read_settings(config))["model"]["decoder"]
        stored, inverse_edges = decoder["type"], (decoder.get("options") or {}).get("inverse_edges")
    if not isinstance(stored, str):
        raise CheckpointError(f"{config}: its decoder has no name.")
    inverse = truth_value(config, "inverse_edges", inverse_edges)
    name = options.require("model", stored, MARIUS_CONFIG, list(DECODERS))
    options.resolve("reciprocal", inverse, MARIUS_CONFIG)
    relations = _marius_relations(folder / MODEL, inverse=inverse)
    family = DECODERS[name](_marius_nodes(folder / NODES, relations.shape[1]), relations)
    options.record_origins(family, "Marius")
    files = (config, folder / NODES, folder / MODEL)
    ids: dict[str, Any] = {"numbering": "files", "layouts": ("marius",)}
    return labelled_checkpoint(family, "marius", files, options, reciprocal=inverse, name=name, **ids)


def _is_marius(path: Path) -> bool:
    folder = folder_of(path)
    inside = path.is_dir() or path.name in {MARIUS_CONFIG, NODES, MODEL}
    return inside and all((folder / name).is_file() for name in (MARIUS_CONFIG, NODES, MODEL))


MARIUS = Reader(
    name="marius",
    summary="a model directory of Marius (full_config.yaml, embeddings.bin, model.pt)",
    recognises=_is_marius,
    read=read_marius,
    known_by=(frozenset({MARIUS_CONFIG, NODES, MODEL}),),
)


def _marius_relations(file: Path, *, inverse: bool) -> FloatArray:
    archive = read_pickled(file)
    if not isinstance(archive, StubObject):
        raise CheckpointError(f"{file}: holds no model of Marius.")
    tensors = Tensors(file, archive.state)
    forward = tensors.matrix("relation_embeddings")
    backward = [tensors.take("inverse_relation_embeddings", *forward.shape)] if inverse else []
    return np.concatenate([forward, *backward])


def _marius_nodes(file: Path, width: int) -> FloatArray:
    """Map the nodes from disk: float32 rows without a header."""
    with readable(file, "table of nodes"):
        size = checked(file)
        if size == 0 or size % (4 * width):
            raise ValueError(f"{size} bytes are not whole rows of {width} numbers (float32)")
        return np.memmap(file, "<f4", "r", shape=(size // (4 * width), width))
