"""LibKGE's checkpoints and packages, whose own configuration says which tensor is which array.

``load_checkpoint`` calls the reader: a path and the user's options become a ``Checkpoint``. A folder is read as
``kge test`` reads it: ``checkpoint_best.pt``, or else the package ``model_best.pt``, or else the only checkpoint there
is. A package keeps labels; a checkpoint does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kgeval.base.errors import CheckpointError
from kgeval.base.pickled import read_pickled
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.labels import CheckpointLabels, find_labels
from kgeval.models.checkpoints.locate import contains_file, find_checkpoint_file, folder_of, readable
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.checkpoints.state_dict_format import holds
from kgeval.models.checkpoints.tensors import COUNTERS, Tensors, fold_batch_norm
from kgeval.models.families.bilinear import CP, RESCAL, DistMult, SimplE, TuckER
from kgeval.models.families.complex import ComplEx, RotatE
from kgeval.models.families.convolutions import ConvE, folded_layers
from kgeval.models.families.projections import TransH
from kgeval.models.families.translations import TransE
from kgeval.models.family import Family
from kgeval.models.ordered import normalized

RECIPROCAL = "reciprocal_relations_model"

COPIES = ("_entity_embedder.*", "_relation_embedder.*", "_scorer.*")
"""the tensors that a reciprocal model stores twice: in its base model, and again under these names"""


def _is(name: str) -> Callable[[Path], bool]:
    return lambda file: file.name == name and _fits(file)


_fits = holds({".pt"}, {"kge.config Config"})


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model as the configuration in its file describes it, with its labels if it is a package."""
    file = find_checkpoint_file(path, [_is("checkpoint_best.pt"), _is("model_best.pt"), _fits], "checkpoint of LibKGE")
    content = read_pickled(file)
    with readable(file, "checkpoint of LibKGE"):
        settings = content["config"].state["options"]
        tensors = Tensors(file, content["model"][0])
        reciprocal = settings["model"] == RECIPROCAL
        part = settings[RECIPROCAL]["base_model"] if reciprocal else settings[settings["model"]]
        name = str(part["type"]) if reciprocal else str(settings["model"])
        merged = {**settings.get(name, {}), **part}
    where = f"the config in {file.name}"
    options.resolve("model", name, where)
    options.resolve("reciprocal", reciprocal, where)
    if name not in MODELS:
        raise CheckpointError(f"{file}: kgeval has no formula for LibKGE's {name}; it has {', '.join(MODELS)}.")
    parts = LibKGEModel(tensors.under("_base_model.") if reciprocal else tensors, merged, options)
    family = MODELS[name](parts)
    options.record_origins(family, "LibKGE", norm="l_norm", height="2D_aspect_ratio")
    tensors.refuse_unused(name, COUNTERS, *(COPIES if reciprocal else ()))
    labels = find_labels(folder_of(path), options)
    if labels.entities is None:
        labels = _packaged(content, file) or labels
    ids: dict[str, Any] = {"reciprocal": reciprocal, "numbering": "files", "layouts": ("libkge",)}
    return labels.checkpoint(family, "libkge", [file], options, name=name, **ids)


READER = Reader(
    name="libkge",
    summary="a folder of LibKGE, or a checkpoint or package (.pt) of it",
    recognises=lambda path: contains_file(path, _fits),
    read=read,
)


def _packaged(content: Any, file: Path) -> CheckpointLabels | None:
    meta = (content.get("dataset") or {}).get("meta") or {}
    if "entity_ids" not in meta or "relation_ids" not in meta:
        return None
    entities, relations = (list(meta[name]) for name in ("entity_ids", "relation_ids"))
    if not all(isinstance(label, str) for label in (*entities, *relations)):
        raise CheckpointError(f"{file}: its labels are not all text.")
    return CheckpointLabels(Vocabulary(entities), Vocabulary(relations, "relation"))


@dataclass(frozen=True)
class LibKGEModel:
    """The tensors of a model, and the settings and options that say how they are read."""

    tensors: Tensors
    settings: Mapping[str, Any]
    """the configuration of the model, with the defaults of its type for what it does not set"""
    options: Options

    @property
    def entity(self) -> Any:
        return self.table("_entity_embedder")

    @property
    def relation(self) -> Any:
        return self.table("_relation_embedder")

    def table(self, embedder: str) -> Any:
        """Return an embedder's table, under its name of today or of earlier versions."""
        old = f"{embedder}.embeddings.weight"
        return self.tensors.matrix(old if old in self.tensors else f"{embedder}._embeddings.weight")

    def norm(self) -> Literal[1, 2]:
        stored, where = self.settings.get("l_norm"), f"the config in {self.tensors.path.name}"
        return 1 if self.options.require("l_norm", stored, where, [1, 2]) == 1 else 2


def _conve(parts: LibKGEModel) -> Family:
    """Column 0 of the entities is the bias of a tail; column 0 of the relations is not used."""
    entity, relation, tensors = parts.entity, parts.relation, parts.tensors.under("_scorer.")
    width = entity.shape[1] - 1
    plain = all(parts.settings.get(name, usual) == usual for name, usual in (("stride", 1), ("padding", 0)))
    where = f"the config in {tensors.path.name}"
    ratio = parts.options.resolve("2D_aspect_ratio", parts.settings.get("2D_aspect_ratio"), where)
    height = round((width / float(2 if ratio is None else ratio)) ** 0.5)
    if not plain or height < 1 or width % height:
        fault = f"a ConvE with strides or padding, or with {width} columns in {height} rows"
        raise CheckpointError(f"{tensors.path}: kgeval does not read {fault}.")
    kernel = tensors.take("convolution.weight", None, 1, None, None)
    biased = parts.settings.get("convolution_bias", "convolution.bias" in tensors)
    layers = folded_layers(
        kernel=kernel,
        kernel_bias=tensors.take("convolution.bias", len(kernel)) if biased else None,
        dense=tensors.take("projection.weight", width, None),
        dense_bias=tensors.take("projection.bias", width),
        within=fold_batch_norm(tensors.under("bn1."), len(kernel), affine=False),
        after=fold_batch_norm(tensors.under("bn2."), width, affine=False),
    )
    return ConvE(entity[:, 1:], relation[:, 1:], **layers, tail_bias=entity[:, 0], height=height)


def _transh(parts: LibKGEModel) -> Family:
    """Relations are stored as halves: the translation, and a normal vector of any length."""
    halves = parts.relation
    if halves.shape[1] % 2:
        raise CheckpointError(f"{parts.tensors.path}: {halves.shape[1]} columns are no translation and normal vector.")
    relation, normal = np.split(halves, 2, axis=1)
    return TransH(parts.entity, relation, normal=normalized(normal), norm=parts.norm(), normalization="none")


def _tucker(parts: LibKGEModel) -> Family:
    """LibKGE projects the vector of a relation to its matrix; the projection is the core tensor in another shape."""
    base = parts.tensors.matrix("_relation_embedder.base_embedder._embeddings.weight")
    projection = parts.tensors.matrix("_relation_embedder.projection.weight")
    width = parts.entity.shape[1]
    if len(projection) != width**2:
        raise CheckpointError(f"{parts.tensors.path}: the projection has {len(projection)} rows, not {width}².")
    return TuckER(parts.entity, base, core=projection.reshape(width, width, -1).transpose(0, 2, 1))


MODELS: dict[str, Callable[[LibKGEModel], Family]] = {
    "complex": lambda parts: ComplEx(parts.entity, parts.relation),
    "conve": _conve,
    "cp": lambda parts: CP(parts.entity, parts.relation),
    "distmult": lambda parts: DistMult(parts.entity, parts.relation),
    "relational_tucker3": _tucker,
    "rescal": lambda parts: RESCAL(parts.entity, parts.relation),
    "rotate": lambda parts: RotatE(parts.entity, parts.relation, parts.norm()),
    "simple": lambda parts: SimplE(parts.entity, parts.relation),
    "transe": lambda parts: TransE(parts.entity, parts.relation, parts.norm()),
    "transh": _transh,
}
