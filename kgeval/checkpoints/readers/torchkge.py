"""TorchKGE's models: a ``state_dict``, saved with torch or as a plain pickle. It holds tensors, no labels and no name.

Entities and relations have the ids of their sorted labels. TorchKGE evaluates with the stored rows as they are; only
its training normalises them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.shared.locate import contains_file, find_checkpoint_file, find_labels, folder_of
from kgeval.checkpoints.shared.tensors import Tensors, check_same_rows, names_in, side_by_side
from kgeval.scorers.families.bilinear import RESCAL, DistMult, HolE
from kgeval.scorers.families.complex import ComplEx
from kgeval.scorers.families.projections import TransD, TransH, TransR
from kgeval.scorers.families.translations import TransE
from kgeval.scorers.family import Family

SUFFIXES = (".pt", ".pth", ".pkl")

DISTINGUISHING_TENSOR = {
    "TransH": "norm_vect.weight",
    "TransR": "proj_mat.weight",
    "TransD": "ent_proj_vect.weight",
    "RESCAL": "rel_mat.weight",
    "Analogy": "sc_ent_emb.weight",
    "ComplEx": "re_ent_emb.weight",
}
"""the tensor that tells a model from those after it"""

INDISTINGUISHABLE = ("TransE", "DistMult", "HolE")
"""the models whose files look the same"""


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model; which of TransE, DistMult and HolE it is must be said, and the dissimilarity of TransE."""
    file = find_checkpoint_file(path, [_has_suffix(suffix) for suffix in SUFFIXES], "state_dict of a TorchKGE model")
    tensors = Tensors.read(file)
    stored = next((model for model, name in DISTINGUISHING_TENSOR.items() if name in tensors), None)
    if stored is None:
        _tables(tensors)  # without them it is none of those that are asked for
    name = options.require("model", stored, file.name, INDISTINGUISHABLE if stored is None else [stored])
    family = MODELS[name](tensors, options)
    options.record_origins(family, "TorchKGE", norm="dissimilarity_type")
    tensors.refuse_unused(name, "projected_entities")
    found = find_labels(folder_of(path), options)
    return found.checkpoint(family, "torchkge", [file], options, name=name, numbering="sorted")


def _tables(tensors: Tensors) -> tuple[Any, Any]:
    return tensors.matrix("ent_emb.weight"), tensors.matrix("rel_emb.weight")


def _transe(tensors: Tensors, options: Options) -> Family:
    # L2 is the squared distance, which ranks as the distance does.
    kind = options.require("dissimilarity_type", None, tensors.path.name, ["L1", "L2"])
    return TransE(*_tables(tensors), 1 if kind == "L1" else 2)


def _complex(tensors: Tensors, _: Options) -> Family:
    halves = [
        side_by_side(tensors.path, *(tensors.matrix(f"{part}_{kind}_emb.weight") for part in ("re", "im")))
        for kind in ("ent", "rel")
    ]
    if "sc_ent_emb.weight" in tensors:
        # Analogy: the real dimensions are complex ones whose imaginary parts are zero.
        scalars = [tensors.matrix(f"sc_{kind}_emb.weight") for kind in ("ent", "rel")]
        halves = [_widened(tensors.path, half, scalar) for half, scalar in zip(halves, scalars, strict=True)]
    return ComplEx(*halves)


def _widened(path: Path, halves: Any, scalars: Any) -> Any:
    real, imaginary = np.split(halves, 2, axis=1)
    check_same_rows(path, [halves, scalars])
    return np.concatenate([scalars, real, np.zeros_like(scalars), imaginary], axis=1)


def _transh(tensors: Tensors, _: Options) -> Family:
    return TransH(*_tables(tensors), normal=tensors.matrix("norm_vect.weight"), norm=2, normalization="none")


def _transr(tensors: Tensors, _: Options) -> Family:
    entity, relation = _tables(tensors)
    stored = tensors.take("proj_mat.weight", len(relation), relation.shape[1] * entity.shape[1])
    # Stored as relation width × entity width.
    transposed = stored.reshape(len(stored), relation.shape[1], -1).transpose(0, 2, 1).reshape(len(stored), -1)
    return TransR(entity, relation, projection=transposed, norm=2, normalization="none")


def _transd(tensors: Tensors, _: Options) -> Family:
    transfers = tensors.matrix("ent_proj_vect.weight"), tensors.matrix("rel_proj_vect.weight")
    return TransD(
        *_tables(tensors), entity_transfer=transfers[0], relation_transfer=transfers[1], norm=2, normalization="none"
    )


MODELS: dict[str, Callable[[Tensors, Options], Family]] = {
    "Analogy": _complex,
    "ComplEx": _complex,
    "DistMult": lambda tensors, _: DistMult(*_tables(tensors)),
    "HolE": lambda tensors, _: HolE(*_tables(tensors)),
    "RESCAL": lambda tensors, _: RESCAL(tensors.matrix("ent_emb.weight"), tensors.matrix("rel_mat.weight")),
    "TransD": _transd,
    "TransE": _transe,
    "TransH": _transh,
    "TransR": _transr,
}


def _has_suffix(suffix: str) -> Callable[[Path], bool]:
    return lambda file: file.suffix == suffix and _fits(file)


def _fits(file: Path) -> bool:
    return file.suffix in SUFFIXES and bool({"ent_emb.weight", "re_ent_emb.weight"} & names_in(file))


READER = Reader(
    name="torchkge",
    summary="a state_dict of a TorchKGE model (.pt, .pth, or a plain pickle)",
    recognises=lambda path: contains_file(path, _fits),
    read=read,
    known_by=(frozenset({"ent_emb.weight", "rel_emb.weight"}),),
)
