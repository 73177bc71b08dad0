"""State dictionaries of four libraries: OpenKE, TorchKGE, pykg2vec and PyTorch Geometric, a reader for each.

``load_checkpoint`` calls the readers: a path and the user's options become a ``Checkpoint``. The first three readers
are tables of models (``state_dict_format.py``); PyTorch Geometric's state dictionaries are read by the formulas of its
live models.

The files and formulas
----------------------
OpenKE saves a ``.ckpt`` (``save_checkpoint``), a trainer's save, or JSON (``save_parameters``). The tensors' names
distinguish most models, but not TransE from DistMult. No file has the norm of a distance or whether vectors are
normalised first: kgeval asks for these under OpenKE's own names.

TorchKGE's ``state_dict``, saved with torch or as a plain pickle, has no labels: entities and relations have the ids of
their sorted labels. It evaluates with the stored rows as they are; only its training normalises them.

pykg2vec saves ``model.vec.pt``, and ``config.npy`` beside it, a pickle that is not opened. Older code of OpenKE uses
the same names of files and tensors, but other ids: without ``config.npy``, the format has to be named. pykg2vec sorts
the labels of all splits and numbers them. Its TransE normalises entities and relations.

PyTorch Geometric's models are in ``torch_geometric.nn.kge``; live models have the same formulas. The library saves
nothing and keeps no labels: ids are the user's. A ``state_dict`` does not tell TransE from DistMult, nor TransE's
``p_norm``, which are asked for; a pickled module has both. Nothing of a module is executed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.arrays import FloatArray
from kgeval.base.files import beginning_of, read_json
from kgeval.base.pickled import PICKLED, read_pickled
from kgeval.base.unpickle import StubObject
from kgeval.models.adapters.live_models import CLASSES, FORMULAS, TABLES
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.labels import labelled_checkpoint
from kgeval.models.checkpoints.locate import contains_file, find_checkpoint_file, readable
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.checkpoints.state_dict_format import (
    Model,
    Option,
    StateDictFormat,
    Take,
    halves,
    holds,
    named,
    unit_rows,
)
from kgeval.models.checkpoints.tensors import (
    LIGHTNING,
    WRAPPINGS,
    Tensors,
    check_same_rows,
    names_in,
    unwrap_state_dict,
)
from kgeval.models.families.bilinear import RESCAL, DistMult, HolE
from kgeval.models.families.complex import ComplEx, RotatE
from kgeval.models.families.projections import TransD, TransH, TransR
from kgeval.models.families.translations import TransE

ENTITY, RELATION = "ent_embeddings.weight", "rel_embeddings.weight"

CONSTANTS = ("zero_const", "pi_const")
"""the tensors that every model of OpenKE holds beside its tables"""

NORMAL, MATRICES = "norm_vector.weight", "transfer_matrix.weight"

RANGE = "rel_embedding_range"

OPENKE_TABLES: dict[str, Any] = {"entity": named(ENTITY), "relation": named(RELATION)}


def _openke_tensors(file: Path, options: Options) -> Tensors:
    tensors = _openke_json(file) if file.suffix == ".json" else Tensors.read(file, options)
    return tensors.of_model((ENTITY, "ent_re_embeddings.weight"))


def _openke_json(file: Path) -> Tensors:
    with readable(file, "model of OpenKE"):
        arrays = {name: np.asarray(values) for name, values in read_json(file).items()}
    # OpenKE's numbers are float32; arrays of other types are refused where they are used.
    singles = {name: array.astype(np.float32) for name, array in arrays.items() if array.dtype == np.float64}
    return Tensors(file, arrays | singles)


def _openke_phases(tensors: Tensors) -> FloatArray:
    """Take the relations of a RotatE as phases in radians; OpenKE's π is a float32."""
    return tensors.phases(RELATION, RANGE, tensors.number("pi_const") or float(np.float32(np.pi)))


def _is_openke(file: Path, prefix: str = "") -> bool:
    """Whether a file has OpenKE's tables, and OpenKE's ending or constants, or its label file beside it.

    pykg2vec's tables have the same names, but other ids.
    """
    if file.suffix not in {".ckpt", ".pt", ".pth"}:
        return False
    names = {name.removeprefix(prefix) for name in names_in(file) if name.startswith(prefix)}
    named = file.suffix == ".ckpt" or file.with_name("entity2id.txt").is_file()
    return bool({ENTITY, "ent_re_embeddings.weight"} & names) and (named or bool({*CONSTANTS} & names))


def _is_openke_json(file: Path) -> bool:
    if file.suffix != ".json":
        return False
    beginning = beginning_of(file, 2**12)
    names = (b'"ent_embeddings.weight"', b'"ent_re_embeddings.weight"', b'"zero_const"', b'"pi_const"')
    return beginning.lstrip().startswith(b"{") and any(name in beginning for name in names)


def _normalized(take: Take) -> Option:
    return Option("norm_flag", {True: unit_rows(take), False: take})


def _negative(take: Take) -> Take:
    return Take(f"-{take.text}", lambda tensors: -take.make(tensors))


FORM = named("rel_matrices.weight")
LOSSES = {"MarginLoss": FORM, "SoftplusLoss": _negative(FORM), "SigmoidLoss": _negative(FORM)}
"""a MarginLoss makes the form of a RESCAL large for facts, the other losses small; OpenKE always ranks small ones
first"""

DISTANCE = {"norm": Option("p_norm", {1: 1, 2: 2})}
OPENKE_PROJECTED = {
    **DISTANCE,
    "entity": OPENKE_TABLES["entity"],
    "relation": _normalized(OPENKE_TABLES["relation"]),
    "normalization": Option("norm_flag", {True: "unit", False: "free"}),
}
OPENKE_TRANSFERS = {f"{kind}_transfer": named(f"{kind[:3]}_transfer.weight") for kind in OPENKE_TABLES}
OPENKE_HALVES = {
    kind: halves(*(f"{kind[:3]}_{part}_embeddings.weight" for part in ("re", "im"))) for kind in OPENKE_TABLES
}
OPENKE_ROTATE = OPENKE_TABLES | {"relation": Take(f"{RELATION} / ({RANGE} / π)", _openke_phases), "norm": 1}

OPENKE_FORMAT = StateDictFormat(
    name="openke",
    framework="OpenKE",
    summary="a model of OpenKE (.ckpt, or the .json of save_parameters)",
    what="model of OpenKE",
    files=(_is_openke, partial(_is_openke, prefix="model."), _is_openke_json),
    tensors=_openke_tensors,
    models={
        "TransE": Model(TransE, DISTANCE | {kind: _normalized(take) for kind, take in OPENKE_TABLES.items()}),
        "DistMult": Model(DistMult, OPENKE_TABLES),
        "TransH": Model(TransH, OPENKE_PROJECTED | {"normal": unit_rows(named(NORMAL))}, NORMAL),
        "TransR": Model(TransR, OPENKE_PROJECTED | {"projection": named(MATRICES)}, MATRICES),
        # Projected entities are always normalised, the flag is about the relation.
        "TransD": Model(TransD, OPENKE_PROJECTED | OPENKE_TRANSFERS | {"normalization": "unit"}, "ent_transfer.weight"),
        "RESCAL": Model(RESCAL, OPENKE_TABLES | {"relation": Option("loss", LOSSES)}, FORM.text),
        "ComplEx": Model(ComplEx, OPENKE_HALVES, "ent_re_embeddings.weight"),
        # OpenKE's prediction uses the relation alone, not the inverse relation that was trained with it.
        "SimplE": Model(DistMult, OPENKE_TABLES, "rel_inv_embeddings.weight", ignored=("*rel_inv_embeddings.weight",)),
        "RotatE": Model(RotatE, OPENKE_ROTATE, RANGE, records=RANGE),
    },
    tables=OPENKE_TABLES,
    ignored=("*_const", "*margin", "*embedding_range", "loss.*"),
    numbering="files",
    layouts=("openke",),
    known_by=(frozenset({ENTITY, RELATION, *CONSTANTS}),),
)


def _read_openke(path: Path, options: Options) -> Checkpoint:
    """Read the tensors of a model, which a table of models names."""
    checkpoint = OPENKE_FORMAT.read(path, options)
    return replace(checkpoint, lower_is_better=options.resolved.get("loss") == "MarginLoss")


OPENKE = replace(OPENKE_FORMAT.reader(), read=_read_openke)


TORCHKGE_TABLES: dict[str, Any] = {"entity": named("ent_emb.weight"), "relation": named("rel_emb.weight")}
TORCHKGE_PROJECTED = TORCHKGE_TABLES | {"norm": 2, "normalization": "none"}
TORCHKGE_TRANSFERS = {f"{kind}_transfer": named(f"{kind[:3]}_proj_vect.weight") for kind in ("entity", "relation")}


def _analogy(scalars: Take, pairs: Take) -> Take:
    """Take Analogy's vectors: the real dimensions are complex ones whose imaginary parts are zero."""

    def make(tensors: Tensors) -> FloatArray:
        both, first = pairs.make(tensors), scalars.make(tensors)
        check_same_rows(tensors.path, [both, first])
        real, imaginary = np.split(both, 2, axis=1)
        return np.concatenate([first, real, np.zeros_like(first), imaginary], axis=1)

    return Take(f"{scalars.text} | {pairs.text}", make)


TORCHKGE_HALVES = {
    kind: halves(*(f"{part}_{kind[:3]}_emb.weight" for part in ("re", "im"))) for kind in ("entity", "relation")
}
TORCHKGE_ANALOGY = {
    kind: _analogy(named(f"sc_{kind[:3]}_emb.weight"), pairs) for kind, pairs in TORCHKGE_HALVES.items()
}


def _transr_projection(tensors: Tensors) -> FloatArray:
    """Take TransR's matrices, which are stored as relation width × entity width."""
    entity, relation = (take.make(tensors) for take in TORCHKGE_TABLES.values())
    stored = tensors.take("proj_mat.weight", len(relation), relation.shape[1] * entity.shape[1])
    return stored.reshape(len(stored), relation.shape[1], -1).transpose(0, 2, 1).reshape(len(stored), -1)


PROJECTION = Take("proj_mat.weight, transposed", _transr_projection)

TORCHKGE = StateDictFormat(
    name="torchkge",
    framework="TorchKGE",
    summary="a state_dict of a TorchKGE model (.pt, .pth, or a plain pickle)",
    what="state_dict of a TorchKGE model",
    files=tuple(holds({suffix}, {"ent_emb.weight"}, {"re_ent_emb.weight"}) for suffix in (".pt", ".pth", ".pkl")),
    # L2 is the squared distance, which ranks as the distance does.
    models={
        "TransE": Model(TransE, TORCHKGE_TABLES | {"norm": Option("dissimilarity_type", {"L1": 1, "L2": 2})}),
        "DistMult": Model(DistMult, TORCHKGE_TABLES),
        "HolE": Model(HolE, TORCHKGE_TABLES),
        "TransH": Model(TransH, TORCHKGE_PROJECTED | {"normal": named("norm_vect.weight")}, "norm_vect.weight"),
        "TransR": Model(TransR, TORCHKGE_PROJECTED | {"projection": PROJECTION}, "proj_mat.weight"),
        "TransD": Model(TransD, TORCHKGE_PROJECTED | TORCHKGE_TRANSFERS, "ent_proj_vect.weight"),
        "RESCAL": Model(RESCAL, TORCHKGE_TABLES | {"relation": named("rel_mat.weight")}, "rel_mat.weight"),
        "Analogy": Model(ComplEx, TORCHKGE_ANALOGY, "sc_ent_emb.weight"),
        "ComplEx": Model(ComplEx, TORCHKGE_HALVES, "re_ent_emb.weight"),
    },
    tables=TORCHKGE_TABLES,
    ignored=("projected_entities",),
    numbering="sorted",
    known_by=(frozenset({"ent_emb.weight", "rel_emb.weight"}),),
).reader()


PYKG2VEC_FILE, PYKG2VEC_CONFIG, PYKG2VEC_LABELS = "model.vec.pt", "config.npy", "ent_labels.tsv"

PYKG2VEC_NAMES = {"entity": "ent_embeddings", "relation": "rel_embeddings"}
PYKG2VEC_TABLES: dict[str, Any] = {kind: named(f"{name}.weight") for kind, name in PYKG2VEC_NAMES.items()}
UNIT_TABLES = {kind: unit_rows(table) for kind, table in PYKG2VEC_TABLES.items()}
PYKG2VEC_HALVES = {kind: halves(f"{name}_real.weight", f"{name}_img.weight") for kind, name in PYKG2VEC_NAMES.items()}
REAL = "ent_embeddings_real.weight"

PYKG2VEC_FORMAT = StateDictFormat(
    name="pykg2vec",
    framework="pykg2vec",
    summary="a TransE, DistMult or ComplEx of pykg2vec (model.vec.pt, config.npy)",
    what=f"{PYKG2VEC_FILE} of pykg2vec",
    files=(lambda file: file.name == PYKG2VEC_FILE,),
    models={
        "TransE": Model(TransE, UNIT_TABLES | {"norm": Option("l1_flag", {True: 1, False: 2})}),
        "DistMult": Model(DistMult, PYKG2VEC_TABLES),
        "ComplEx": Model(ComplEx, PYKG2VEC_HALVES, REAL),
    },
    numbering="sorted",
    known_by=(frozenset({*(f"{name}.weight" for name in PYKG2VEC_NAMES.values()), PYKG2VEC_CONFIG, PYKG2VEC_LABELS}),),
)


def _is_pykg2vec(file: Path) -> bool:
    beside = file.name == PYKG2VEC_FILE and file.with_name(PYKG2VEC_CONFIG).is_file()
    return beside and holds({".pt"}, {"ent_embeddings.weight"}, {REAL})(file)


PYKG2VEC = replace(PYKG2VEC_FORMAT.reader(), recognises=lambda path: contains_file(path, _is_pykg2vec))


PYG_TENSORS = frozenset({"node_emb.weight", "rel_emb.weight"})
"""the tensors that all models of PyTorch Geometric have"""

PYG_MODULES = "torch_geometric.nn.kge."
"""the beginning of the names of classes in a pickled module"""


def read_pyg(path: Path, options: Options) -> Checkpoint:
    """Read a model; for a state_dict, the user must say whether it is TransE or DistMult, and TransE's p_norm."""
    file = find_checkpoint_file(path, [_is_pyg], "model of PyTorch Geometric")
    content = read_pickled(file)
    module = _pyg_module_in(content)
    tensors = Tensors(file, unwrap_state_dict(content, options, file)).of_model("node_emb.")
    models = [CLASSES[module.origin]] if module else _pyg_models_with(tensors)
    name = options.require("model", models[0] if len(models) == 1 else None, file.name, models)
    norm = None
    if name == "TransE":
        norm = options.require("p_norm", module and module.state.get("p_norm"), file.name, [1, 2])
    entity, relation = (tensors.side_by_side(*(f"{part}.weight" for part in parts)) for parts in TABLES[name])
    family = FORMULAS[name](entity, relation, norm)
    options.record_origins(family, "PyTorch Geometric", norm="p_norm")
    tensors.refuse_unused(name)
    return labelled_checkpoint(family, "pyg", [file], options, name=name)


def _pyg_module_in(content: Any) -> StubObject | None:
    """Find a pickled module, by itself or under one of the usual names."""
    wrapped = [content.get(name) for name in WRAPPINGS] if isinstance(content, dict) else []
    modules = [part for part in (content, *wrapped) if isinstance(part, StubObject) and part.origin in CLASSES]
    return modules[0] if modules else None


def _pyg_models_with(tensors: Tensors) -> list[str]:
    imaginary = ("node_emb_im.weight" in tensors, "rel_emb_im.weight" in tensors)
    return {(True, True): ["ComplEx"], (True, False): ["RotatE"]}.get(imaginary, ["TransE", "DistMult"])


_is_pyg_state = holds(PICKLED, PYG_TENSORS, {f"{LIGHTNING}{name}" for name in PYG_TENSORS})


def _is_pyg(file: Path) -> bool:
    names = names_in(file) if file.suffix in PICKLED else ()
    return _is_pyg_state(file) or any(name.startswith(PYG_MODULES) for name in names)


PYG = Reader(
    name="pyg",
    summary="a state_dict or module of PyTorch Geometric's TransE, DistMult, ComplEx or RotatE (.pt)",
    recognises=lambda path: contains_file(path, _is_pyg),
    read=read_pyg,
    known_by=(PYG_TENSORS,),
)
