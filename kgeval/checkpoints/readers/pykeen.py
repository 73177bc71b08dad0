"""PyKEEN's models: a ``save_to_directory`` folder, or a bare ``trained_model.pkl``; current and pre-1.8 layouts.

The pickle holds the whole model as a tree of modules. Nothing of it is executed (see ``kgeval.checkpoints.unpickle``):
the tree is walked, and its arrays are taken out.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.checkpoint import Checkpoint, Options
from kgeval.checkpoints.labels import read_labels
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.unpickle import Inert, read_torch
from kgeval.errors import CheckpointError
from kgeval.graph.vocabulary import Vocabulary
from kgeval.scorers.families.complex import ComplEx
from kgeval.scorers.families.distmult import DistMult
from kgeval.scorers.families.rotate import RotatE
from kgeval.scorers.families.transe import TransE
from kgeval.scorers.families.tucker import TuckER
from kgeval.scorers.family import Family
from kgeval.scorers.halves import from_interleaved
from kgeval.scorers.reciprocal import Reciprocal

MODEL_FILE = "trained_model.pkl"


class NoFormula(CheckpointError):
    """The file is a sound PyKEEN model, but kgeval cannot compute its scores from the file alone."""


@dataclass(frozen=True)
class Module:
    """A module of the tree: its class, attributes, arrays and children."""

    class_name: str
    state: dict[str, Any]

    @classmethod
    def of(cls, pickled: Any, what: str) -> Module:
        """Take a pickled module.

        Raises
        ------
        CheckpointError
            if it is something else
        """
        if not isinstance(pickled, Inert) or "_modules" not in pickled.state:
            raise CheckpointError(f"{what} is no PyTorch module.")
        return cls(pickled.class_name, pickled.state)

    def child(self, *names: str) -> Module | None:
        """Return the first child that there is under one of some names (dots lead further down)."""
        for name in names:
            first, _, rest = name.partition(".")
            pickled = self.state["_modules"].get(first)
            if pickled is not None:
                module = Module.of(pickled, name)
                return module.child(rest) if rest else module
        return None

    def array(self, name: str) -> FloatArray | None:
        """Return a parameter or buffer."""
        value = self.state["_parameters"].get(name)
        value = self.state["_buffers"].get(name) if value is None else value
        return value if isinstance(value, np.ndarray) else None


@dataclass(frozen=True)
class Parts:
    """What a model family is made of."""

    interaction: Module
    """the model itself in layouts that had no interaction module"""
    entity: FloatArray
    """float[entity, width]; PyKEEN stores complex vectors interleaved: re, im, re, im, …"""
    relation: FloatArray
    """float[relation, width], inverse relations last"""


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model, and its labels from ``training_triples`` beside it if they are there.

    Raises
    ------
    CheckpointError
        if the file is damaged or refused, or if kgeval has no family for the model's interaction
    """
    file = path / MODEL_FILE if path.is_dir() else path
    pickled = read_torch(file)
    if not isinstance(pickled, Inert) or not pickled.origin.startswith("pykeen.models."):
        raise CheckpointError(f"{file}: holds no PyKEEN model. Give the {MODEL_FILE} that save_to_directory writes.")
    try:
        model = Module.of(pickled, "the model")
        name, family = _family(model)
        entities, relations, label_files = _labels(file)
        inverse = bool(model.state.get("use_inverse_triples"))
        whole = Reciprocal(family) if inverse else family
    except NoFormula as error:
        raise NoFormula(f"{file}: {error} Evaluate the live model instead: kgeval.evaluate(model, dataset).") from error
    except CheckpointError as error:
        raise CheckpointError(f"{file}: {error}") from error
    except Exception as error:  # what was unpickled can be anything
        raise CheckpointError(f"{file}: in no layout of PyKEEN ({type(error).__name__}: {error}).") from error
    for key, value in {"model": name, **family.options, "reciprocal": inverse}.items():
        options.resolve(key, value, file.name)
    return Checkpoint(whole, "pykeen", (file, *label_files), entities, relations, options.origins)


def _family(model: Module) -> tuple[str, Family]:
    interaction = model.child("interaction")
    name = (interaction or model).class_name.removesuffix("Interaction")
    if model.state.get("predict_with_sigmoid"):
        raise NoFormula("it ranks on sigmoids of its scores (predict_with_sigmoid), whose saturation makes ties.")
    if name not in FAMILIES:
        asked = model.class_name if model.class_name == name else f"{model.class_name} ({name})"
        raise NoFormula(f"kgeval has no formula for PyKEEN's {asked} yet; it has {', '.join(FAMILIES)}.")
    entity, relation = _representation(model, "entity"), _representation(model, "relation")
    if model.state.get("use_inverse_triples"):
        relation = np.concatenate([relation[0::2], relation[1::2]])
    return name, FAMILIES[name](Parts(interaction or model, entity, relation))


def _representation(model: Module, kind: str) -> FloatArray:
    """Return the stored vectors of entities or relations, where they are what the model computes with."""
    module = model.child(f"{kind}_representations.0", f"{kind}_embeddings")
    table = module and module.child("_embeddings")
    if module is None or table is None or (weight := table.array("weight")) is None:
        raise NoFormula(f"its {kind} representation is no plain embedding.")
    for attribute, owner in (("normalizer", module), ("max_norm", table)):
        if owner.state.get(attribute) is not None:
            raise NoFormula(f"its {kind} vectors pass a {attribute} when they are used.")
    return weight


def _transe(parts: Parts) -> Family:
    return TransE(parts.entity, parts.relation, _norm(parts, parts.interaction.state.get("scoring_fct_norm")))


def _distmult(parts: Parts) -> Family:
    return DistMult(parts.entity, parts.relation)


def _complex(parts: Parts) -> Family:
    if parts.interaction.class_name == "ComplEx":
        raise NoFormula("it is a ComplEx from before PyKEEN's interaction modules, whose layout kgeval does not read.")
    return ComplEx(from_interleaved(parts.entity), from_interleaved(parts.relation))


def _rotate(parts: Parts) -> Family:
    # Relations that are no rotations are read too: PyKEEN turns back by conj(r) as well.
    return RotatE(from_interleaved(parts.entity), from_interleaved(parts.relation), _norm(parts, 2))


def _tucker(parts: Parts) -> Family:
    core = parts.interaction.array("core_tensor")
    if core is None:
        raise CheckpointError("its core tensor is missing.")
    head_scale, head_shift = _batch_norm(parts.interaction.child("head_batch_norm", "bn_0"))
    product_scale, product_shift = _batch_norm(parts.interaction.child("head_relation_batch_norm", "bn_1"))
    return TuckER(parts.entity, parts.relation, core, head_scale, head_shift, product_scale, product_shift)


def _batch_norm(module: Module | None) -> tuple[FloatArray | None, FloatArray | None]:
    """Fold a trained batch normalisation into a scale and a shift, in float64."""
    if module is None:
        return None, None
    mean, variance = module.array("running_mean"), module.array("running_var")
    if mean is None or variance is None:
        raise NoFormula("its batch normalisation keeps no running statistics, so its scores depend on the batch.")
    weight, bias = module.array("weight"), module.array("bias")
    scale = (1.0 if weight is None else weight.astype(np.float64)) / np.sqrt(
        variance.astype(np.float64) + module.state["eps"]
    )
    return scale, (0.0 if bias is None else bias.astype(np.float64)) - mean * scale


def _norm(parts: Parts, default: int | None) -> Literal[1, 2]:
    if parts.interaction.state.get("power_norm"):
        raise NoFormula("its distance is a power of a norm (power_norm).")
    norm = parts.interaction.state.get("p", default)
    if norm not in (1, 2):
        raise NoFormula(f"its distance is the norm of p = {norm}; kgeval has 1 and 2.")
    return 1 if norm == 1 else 2


FAMILIES: dict[str, Callable[[Parts], Family]] = {
    "ComplEx": _complex,
    "DistMult": _distmult,
    "RotatE": _rotate,
    "TransE": _transe,
    "TuckER": _tucker,
}


def _labels(file: Path) -> tuple[Vocabulary | None, Vocabulary | None, tuple[Path, ...]]:
    folder = file.with_name("training_triples")
    files = [folder / f"{kind}_to_id.tsv.gz" for kind in ("entity", "relation")]
    if not all(path.is_file() for path in files):
        return None, None, ()
    return read_labels(files[0], "entity"), read_labels(files[1], "relation"), tuple(files)


def _recognises(path: Path) -> bool:
    if path.is_dir():
        return (path / MODEL_FILE).is_file()
    return (path.suffix in {".pkl", ".pt", ".pth"} and zipfile.is_zipfile(path)) or path.name == MODEL_FILE


READER = Reader(
    name="pykeen",
    summary="a folder that save_to_directory wrote, or its trained_model.pkl",
    recognises=_recognises,
    read=read,
)
