"""OpenKE's models: a ``.ckpt`` that ``save_checkpoint`` wrote, a trainer's save, or the JSON of ``save_parameters``.

The tensors' names tell most models apart, not TransE from DistMult, and nothing tells the norm of a distance or
whether vectors are normalised first: these are asked for under OpenKE's own names.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.shared.locate import contains_file, find_checkpoint_file, find_labels, folder_of
from kgeval.checkpoints.shared.tensors import Tensors, names_in, normalize_rows, side_by_side
from kgeval.errors import CheckpointError
from kgeval.files.opening import read_json
from kgeval.scorers.families.bilinear import RESCAL, DistMult
from kgeval.scorers.families.complex import ComplEx
from kgeval.scorers.families.projections import TransD, TransH, TransR
from kgeval.scorers.families.rotations import RotatE
from kgeval.scorers.families.translations import TransE
from kgeval.scorers.family import Family

ENTITY, RELATION = "ent_embeddings.weight", "rel_embeddings.weight"

CONSTANTS = ("zero_const", "pi_const")
"""what every model holds beside its tables"""

DISTINGUISHING_TENSOR = {
    "TransH": "norm_vector.weight",
    "TransR": "transfer_matrix.weight",
    "TransD": "ent_transfer.weight",
    "RESCAL": "rel_matrices.weight",
    "ComplEx": "ent_re_embeddings.weight",
    "SimplE": "rel_inv_embeddings.weight",
    "RotatE": "rel_embedding_range",
}
"""the tensor that only this model has"""

INDISTINGUISHABLE = ("TransE", "DistMult")
"""the models whose files look the same"""

IGNORED_TENSORS = ("*_const", "*margin", "*embedding_range", "loss.*")
"""tensors that no rank depends on where a formula does not take them"""

LOSSES = {"MarginLoss": 1.0, "SoftplusLoss": -1.0, "SigmoidLoss": -1.0}
"""the sign that each loss gives to the form of a RESCAL"""


def read(path: Path, options: Options) -> Checkpoint:
    file = find_checkpoint_file(path, [_is_model, _is_trainers, _is_json], "model of OpenKE")
    whole = _read_json(file) if file.suffix == ".json" else Tensors.read(file)
    trainers = f"model.{ENTITY}" in whole or "model.ent_re_embeddings.weight" in whole
    tensors = whole.under("model.") if trainers else whole
    stored = next((model for model, name in DISTINGUISHING_TENSOR.items() if name in tensors), None)
    if stored is None:
        _tables(tensors)  # without them it is none of those that are asked for
    name = options.require("model", stored, file.name, INDISTINGUISHABLE if stored is None else [stored])
    found = find_labels(folder_of(path), options)
    family = MODELS[name](tensors, options)
    if name == "RotatE":
        options.resolve("rel_embedding_range", tensors.number("rel_embedding_range"), file.name)
    options.record_origins(family, "OpenKE", norm="p_norm", normalization="" if name == "TransD" else "norm_flag")
    whole.refuse_unused(name, *IGNORED_TENSORS, *(["*rel_inv_embeddings.weight"] if name == "SimplE" else []))
    lower = LOSSES.get(str(options.resolved.get("loss")), -1.0) > 0
    details = {"name": name, "numbering": "files", "layouts": ("openke",), "lower_is_better": lower}
    return found.checkpoint(family, "openke", [file], options, **details)


def _read_json(file: Path) -> Tensors:
    try:
        content = read_json(file)
        arrays = {name: np.asarray(values) for name, values in content.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{file}: not the parameters of a model of OpenKE ({error}).") from error
    # OpenKE's numbers are float32; what is no number is refused where it is used.
    singles = {name: array.astype(np.float32) for name, array in arrays.items() if array.dtype == np.float64}
    return Tensors(file, arrays | singles)


def _tables(tensors: Tensors) -> tuple[Any, Any]:
    return tensors.matrix(ENTITY), tensors.matrix(RELATION)


def _norm(tensors: Tensors, options: Options) -> Literal[1, 2]:
    return 1 if options.require("p_norm", None, tensors.path.name, [1, 2]) == 1 else 2


def _is_normalised(tensors: Tensors, options: Options) -> bool:
    return bool(options.require("norm_flag", None, tensors.path.name, [True, False]))


def _transe(tensors: Tensors, options: Options) -> Family:
    entity, relation = _tables(tensors)
    norm = _norm(tensors, options)
    if _is_normalised(tensors, options):
        entity, relation = normalize_rows(entity), normalize_rows(relation)
    return TransE(entity, relation, norm)


def _projected(tensors: Tensors, options: Options, kind: Callable[..., Family], **arrays: Any) -> Family:
    """Make a model that projects first, and normalises what it has projected if the flag is set."""
    entity, relation = _tables(tensors)
    norm, flag = _norm(tensors, options), _is_normalised(tensors, options)
    relation = normalize_rows(relation) if flag else relation
    return kind(entity, relation, norm=norm, normalization="unit" if flag or kind is TransD else "free", **arrays)


def _transh(tensors: Tensors, options: Options) -> Family:
    return _projected(tensors, options, TransH, normal=normalize_rows(tensors.matrix("norm_vector.weight")))


def _transr(tensors: Tensors, options: Options) -> Family:
    return _projected(tensors, options, TransR, projection=tensors.matrix("transfer_matrix.weight"))


def _transd(tensors: Tensors, options: Options) -> Family:
    """Projected entities are always normalised, the flag is about the relation."""
    transfers = {kind: tensors.matrix(f"{kind}_transfer.weight") for kind in ("ent", "rel")}
    return _projected(tensors, options, TransD, entity_transfer=transfers["ent"], relation_transfer=transfers["rel"])


def _complex(tensors: Tensors, _: Options) -> Family:
    entity, relation = (
        side_by_side(tensors.path, *(tensors.matrix(f"{kind}_{part}_embeddings.weight") for part in ("re", "im")))
        for kind in ("ent", "rel")
    )
    return ComplEx(entity, relation)


def _rescal(tensors: Tensors, options: Options) -> Family:
    """A MarginLoss makes the form large for facts, the other losses small; OpenKE ranks as for the others."""
    sign = LOSSES[options.require("loss", None, tensors.path.name, list(LOSSES))]
    return RESCAL(tensors.matrix(ENTITY), np.float32(sign) * tensors.matrix("rel_matrices.weight"))


def _rotate(tensors: Tensors, _: Options) -> Family:
    """Relations are phases, stored in units of the embedding range over π; OpenKE's π is a float32."""
    entity, relation = _tables(tensors)
    extent = tensors.number("rel_embedding_range")
    pi = tensors.number("pi_const") or float(np.float32(np.pi))
    if not extent:
        raise CheckpointError(f"{tensors.path}: rel_embedding_range is {extent}: the phases have no unit.")
    return RotatE(entity, np.asarray(relation, np.float64) / (extent / pi), 1)


MODELS: dict[str, Callable[[Tensors, Options], Family]] = {
    "ComplEx": _complex,
    "DistMult": lambda tensors, _: DistMult(*_tables(tensors)),
    "RESCAL": _rescal,
    "RotatE": _rotate,
    # Its prediction takes the relation as it is, and no account of the inverse that it has trained.
    "SimplE": lambda tensors, _: DistMult(*_tables(tensors)),
    "TransD": _transd,
    "TransE": _transe,
    "TransH": _transh,
    "TransR": _transr,
}


def _is_model(file: Path, prefix: str = "") -> bool:
    """Whether a file has OpenKE's tables, and its ending, its constants, or its labels beside it.

    pykg2vec gives its tables the same names, and its ids to other labels.
    """
    if file.suffix not in {".ckpt", ".pt", ".pth"}:
        return False
    found = {name.removeprefix(prefix) for name in names_in(file) if name.startswith(prefix)}
    named = file.suffix == ".ckpt" or file.with_name("entity2id.txt").is_file()
    return bool({ENTITY, "ent_re_embeddings.weight"} & found) and (named or bool({*CONSTANTS} & found))


def _is_trainers(file: Path) -> bool:
    return _is_model(file, "model.")


def _is_json(file: Path) -> bool:
    if file.suffix != ".json":
        return False
    with file.open("rb") as opened:
        beginning = opened.read(2**12)
    names = (b'"ent_embeddings.weight"', b'"ent_re_embeddings.weight"', b'"zero_const"', b'"pi_const"')
    return beginning.lstrip().startswith(b"{") and any(name in beginning for name in names)


READER = Reader(
    name="openke",
    summary="a model of OpenKE (.ckpt, or the .json of save_parameters)",
    recognises=lambda path: contains_file(path, lambda file: _is_model(file) or _is_trainers(file) or _is_json(file)),
    read=read,
    known_by=(frozenset({ENTITY, RELATION, *CONSTANTS}),),
)
