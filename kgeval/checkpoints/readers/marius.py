"""Marius's models. They are no table of tensors: nodes are raw numbers, the relations lie in a TorchScript archive.

Nothing of the archive is executed. With inverse edges, heads are asked for with the inverse relations. Marius ranks and
trains its TransE so that larger distances are more plausible, and so it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options, truth_value
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.shared.locate import find_labels, folder_of
from kgeval.checkpoints.shared.tensors import Tensors
from kgeval.errors import CheckpointError, reason
from kgeval.files.opening import checked, read_settings
from kgeval.files.yaml_text import read_yaml
from kgeval.pickles.pickled import read_torch
from kgeval.pickles.unpickle import StubObject
from kgeval.scorers.families.bilinear import DistMult
from kgeval.scorers.families.complex import ComplEx
from kgeval.scorers.families.translations import MariusTransE
from kgeval.scorers.family import Family
from kgeval.scorers.mapped import Reciprocal

CONFIG, NODES, MODEL = "full_config.yaml", "embeddings.bin", "model.pt"

DECODERS: dict[str, Callable[[Any, Any], Family]] = {
    "DISTMULT": DistMult,
    "COMPLEX": ComplEx,
    "TRANSE": MariusTransE,
}


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model as ``full_config.yaml`` describes it, with its inverse relations if it has any."""
    folder = folder_of(path)
    config = folder / CONFIG
    try:
        decoder = read_yaml(read_settings(config))["model"]["decoder"]
        stored, inverse_edges = decoder["type"], (decoder.get("options") or {}).get("inverse_edges")
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{config}: no configuration of Marius ({reason(error)}).") from error
    if not isinstance(stored, str):
        raise CheckpointError(f"{config}: its decoder has no name.")
    inverse = truth_value(config, "inverse_edges", inverse_edges)
    name = options.require("model", stored, CONFIG, list(DECODERS))
    options.resolve("reciprocal", inverse, CONFIG)
    relations = _relations(folder / MODEL, inverse=inverse)
    family = DECODERS[name](_nodes(folder / NODES, relations.shape[1]), relations)
    options.record_origins(family, "Marius")
    found = find_labels(folder, options)
    model, files = Reciprocal(family) if inverse else family, (config, folder / NODES, folder / MODEL)
    return found.checkpoint(model, "marius", files, options, name=name, numbering="files", layouts=("marius",))


def _relations(file: Path, *, inverse: bool) -> FloatArray:
    archive = read_torch(file)
    if not isinstance(archive, StubObject):
        raise CheckpointError(f"{file}: holds no model of Marius.")
    tensors = Tensors(file, archive.state)
    names = ["relation_embeddings", *(["inverse_relation_embeddings"] if inverse else [])]
    forward = tensors.matrix(names[0])
    return np.concatenate([forward, *(tensors.take(name, *forward.shape) for name in names[1:])])


def _nodes(file: Path, width: int) -> FloatArray:
    """Map the nodes from disk: float32 rows without a header."""
    try:
        size = checked(file)
        if size == 0 or size % (4 * width):
            raise CheckpointError(f"{file}: {size} bytes are no rows of {width} numbers (float32). Cut short?")
        return np.memmap(file, "<f4", "r", shape=(size // (4 * width), width))
    except OSError as error:
        raise CheckpointError(f"{file}: cannot be read ({error.strerror or error}).") from error


def _recognises(path: Path) -> bool:
    folder = folder_of(path)
    inside = path.is_dir() or path.name in {CONFIG, NODES, MODEL}
    return inside and all((folder / name).is_file() for name in (CONFIG, NODES, MODEL))


READER = Reader(
    name="marius",
    summary="a model directory of Marius (full_config.yaml, embeddings.bin, model.pt)",
    recognises=_recognises,
    read=read,
    known_by=(frozenset({CONFIG, NODES, MODEL}),),
)
