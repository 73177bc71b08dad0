"""OpenKE's models: a ``.ckpt`` that ``save_checkpoint`` wrote, a trainer's save, or the JSON of ``save_parameters``.

The tensors' names tell most models apart, not TransE from DistMult, and nothing tells the norm of a distance or
whether vectors are normalised first: these are asked for under OpenKE's own names.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.shared.state_dict_format import Model, Option, StateDictFormat, Take, halves, named, unit_rows
from kgeval.checkpoints.shared.tensors import Tensors, names_in
from kgeval.errors import CheckpointError
from kgeval.files.opening import read_json
from kgeval.scorers.families.bilinear import RESCAL, DistMult
from kgeval.scorers.families.complex import ComplEx, RotatE
from kgeval.scorers.families.projections import TransD, TransH, TransR
from kgeval.scorers.families.translations import TransE

ENTITY, RELATION = "ent_embeddings.weight", "rel_embeddings.weight"

CONSTANTS = ("zero_const", "pi_const")
"""what every model holds beside its tables"""

NORMAL, MATRICES = "norm_vector.weight", "transfer_matrix.weight"

RANGE = "rel_embedding_range"

TABLES: dict[str, Any] = {"entity": named(ENTITY), "relation": named(RELATION)}


def _tensors(file: Path) -> Tensors:
    tensors = _read_json(file) if file.suffix == ".json" else Tensors.read(file)
    trainers = f"model.{ENTITY}" in tensors or "model.ent_re_embeddings.weight" in tensors
    return tensors.under("model.") if trainers else tensors


def _read_json(file: Path) -> Tensors:
    try:
        content = read_json(file)
        arrays = {name: np.asarray(values) for name, values in content.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{file}: not the parameters of a model of OpenKE ({error}).") from error
    # OpenKE's numbers are float32; what is no number is refused where it is used.
    singles = {name: array.astype(np.float32) for name, array in arrays.items() if array.dtype == np.float64}
    return Tensors(file, arrays | singles)


def _phases(tensors: Tensors) -> FloatArray:
    """Relations are phases, stored in units of the embedding range over π; OpenKE's π is a float32."""
    relation, extent = tensors.matrix(RELATION), tensors.number(RANGE)
    pi = tensors.number("pi_const") or float(np.float32(np.pi))
    if not extent:
        raise CheckpointError(f"{tensors.path}: {RANGE} is {extent}: the phases have no unit.")
    return np.asarray(relation, np.float64) / (extent / pi)


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


def _normalized(take: Take) -> Option:
    return Option("norm_flag", {True: unit_rows(take), False: take})


def _negative(take: Take) -> Take:
    return Take(f"-{take.text}", lambda tensors: -take(tensors))


FORM = named("rel_matrices.weight")
LOSSES = {"MarginLoss": FORM, "SoftplusLoss": _negative(FORM), "SigmoidLoss": _negative(FORM)}
"""a MarginLoss makes the form of a RESCAL large for facts, the other losses small; OpenKE ranks as for the others"""

DISTANCE = {"norm": Option("p_norm", {1: 1, 2: 2})}
PROJECTED = {
    **DISTANCE,
    "entity": TABLES["entity"],
    "relation": _normalized(TABLES["relation"]),
    "normalization": Option("norm_flag", {True: "unit", False: "free"}),
}
TRANSFERS = {f"{kind}_transfer": named(f"{kind[:3]}_transfer.weight") for kind in TABLES}
HALVES = {kind: halves(*(f"{kind[:3]}_{part}_embeddings.weight" for part in ("re", "im"))) for kind in TABLES}

FORMAT = StateDictFormat(
    name="openke",
    framework="OpenKE",
    summary="a model of OpenKE (.ckpt, or the .json of save_parameters)",
    what="model of OpenKE",
    files=(_is_model, _is_trainers, _is_json),
    tensors=_tensors,
    models={
        "TransE": Model(TransE, DISTANCE | {kind: _normalized(take) for kind, take in TABLES.items()}),
        "DistMult": Model(DistMult, TABLES),
        "TransH": Model(TransH, PROJECTED | {"normal": unit_rows(named(NORMAL))}, NORMAL),
        "TransR": Model(TransR, PROJECTED | {"projection": named(MATRICES)}, MATRICES),
        # Projected entities are always normalised, the flag is about the relation.
        "TransD": Model(TransD, PROJECTED | TRANSFERS | {"normalization": "unit"}, "ent_transfer.weight"),
        "RESCAL": Model(RESCAL, TABLES | {"relation": Option("loss", LOSSES)}, FORM.text),
        "ComplEx": Model(ComplEx, HALVES, "ent_re_embeddings.weight"),
        # Its prediction takes the relation as it is, and no account of the inverse that it has trained.
        "SimplE": Model(DistMult, TABLES, "rel_inv_embeddings.weight", ignored=("*rel_inv_embeddings.weight",)),
        "RotatE": Model(
            RotatE, TABLES | {"relation": Take(f"{RELATION} / ({RANGE} / π)", _phases), "norm": 1}, RANGE, records=RANGE
        ),
    },
    tables=TABLES,
    ignored=("*_const", "*margin", "*embedding_range", "loss.*"),
    numbering="files",
    layouts=("openke",),
    known_by=(frozenset({ENTITY, RELATION, *CONSTANTS}),),
)


def _read(path: Path, options: Options) -> Checkpoint:
    """Read the tensors of a model, which a table of models names."""
    checkpoint = FORMAT.read(path, options)
    return replace(checkpoint, lower_is_better=options.resolved.get("loss") == "MarginLoss")


READER = replace(FORMAT.reader(), read=_read)
