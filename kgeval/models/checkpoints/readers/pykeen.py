"""PyKEEN's models: a ``save_to_directory`` folder, a bare ``trained_model.pkl``, or a state dictionary.

``load_checkpoint`` calls the reader: a path and the user's options become a ``Checkpoint``. ``pykeen_modules.py`` has
the tree of modules in such a file, ``pykeen_interactions.py`` the family of each interaction.

The files
---------
The pickle holds the whole model as a tree of modules; current layouts and those before 1.8 are read. Nothing of it is
executed (see ``kgeval.base.unpickle``): the tree is walked, and its arrays are taken out. A state dictionary (bare, as
``pykeen.checkpoints.save_model`` wraps it, or in a training loop's checkpoint) holds tensors; a training loop's also
holds labels. The user is asked for the interaction, and for its norm, normaliser and the like.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgeval.base.errors import CheckpointError, first_few
from kgeval.base.pickled import PICKLED, read_pickled
from kgeval.base.unpickle import StubObject
from kgeval.data.id_files import JSON, PYKEEN, PYKEEN_SAVED, TSV
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.labels import CheckpointLabels, find_labels, vocabulary_of_ids
from kgeval.models.checkpoints.locate import contains_file, find_checkpoint_file, naming
from kgeval.models.checkpoints.options import Options, truth_value
from kgeval.models.checkpoints.readers import NAME_OPTIONS, NAMED_BY_USER, Reader
from kgeval.models.checkpoints.readers.pykeen_interactions import family_of
from kgeval.models.checkpoints.readers.pykeen_modules import Module, NoFormula, PyKEENModel
from kgeval.models.checkpoints.tensors import COUNTERS, LIGHTNING, Tensors, names_in, unwrap_state_dict
from kgeval.models.ordered import ACTIVATIONS

MODEL_FILE = "trained_model.pkl"

LABELS = (PYKEEN_SAVED, PYKEEN, TSV, JSON)
"""the files of PyKEEN's labels, in a saved folder or beside the model; other files beside it have other ids"""

STATE = ("entity_representations.", "entity_embeddings._embeddings.")
"""the beginnings of the names of entity tensors in a state dictionary, today and before 1.8"""

NORM, SWITCH, NORMALIZER = [1, 2], [True, False], ["normalize", "none"]

ACTIVATION = list(ACTIVATIONS)

WITHOUT_OPTIONS = ("CP", "ComplEx", "ConvKB", "DistMult", "ERMLPE", "HolE", "RESCAL", "SimplE", "TuckER")

REQUIRED_OPTIONS: dict[str, dict[str, list[Any]]] = {
    **{name: {} for name in WITHOUT_OPTIONS},
    **{name: {"p": NORM} for name in ("RotatE", "TorusE", "TransE")},
    **{name: {"activation": ACTIVATION} for name in ("CrossE", "ERMLP", "NTN")},
    "BoxE": {"p": NORM, "power_norm": SWITCH, "tanh_map": SWITCH},
    "KG2E": {"similarity": ["kl", "el"]},
    "MuRE": {"p": NORM, "power_norm": SWITCH},
    "PairRE": {"p": NORM, "entity_normalizer": NORMALIZER},
    "ProjE": {"inner_activation": ACTIVATION, "outer_activation": ["identity"]},
    "QuatE": {"relation_normalizer": NORMALIZER},
}
"""the interactions that a state dictionary can be read as, and the options that each needs"""

NORMALIZERS = {"entity": "torch.nn.functional.normalize", "relation": "pykeen.nn.quaternion.normalize"}
"""the function that ``normalize`` stands for, for entities (of PairRE) and for relations (of QuatE)"""

IGNORED_TENSORS = (COUNTERS, "*regularizer*", "loss.*", "interaction.table")
"""the tensors of a state dictionary that no score depends on; the table multiplies quaternions"""


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model, and its labels from ``training_triples`` beside it if they are there."""
    file = find_checkpoint_file(path, [lambda file: file.name == MODEL_FILE, _fits], f"PyKEEN model ({MODEL_FILE})")
    pickled = read_pickled(file)
    if isinstance(pickled, dict):
        return _read_state(file, pickled, options)
    if not isinstance(pickled, StubObject) or not pickled.origin.startswith("pykeen.models."):
        raise CheckpointError(f"{file}: not a PyKEEN model. Give the {MODEL_FILE} that save_to_directory writes.")
    try:
        model = Module.of(pickled)
        _refuse_without_formula(model)
        labels = find_labels(file.parent, options, LABELS)
        inverse = truth_value(file, "use_inverse_triples", model.state.get("use_inverse_triples"))
        interaction = (model.child("interaction") or model).class_name.removesuffix("Interaction")
        family = family_of(PyKEENModel.of(model, inverse=inverse), interaction)
    except NoFormula as error:
        raise NoFormula(f"{file}: {error} Evaluate the live model instead: kgeval.evaluate(model, dataset).") from error
    except CheckpointError as error:
        raise CheckpointError(f"{file}: {error}") from error
    except Exception as error:  # what was unpickled can be anything
        raise CheckpointError(f"{file}: in an unknown layout of PyKEEN ({type(error).__name__}: {error}).") from error
    name = model.class_name if interaction == "Clamped" else interaction
    for key, value in {"model": name, **family.options, "reciprocal": inverse}.items():
        options.resolve(key, value, file.name)
    return labels.checkpoint(family, "pykeen", [file], options, reciprocal=inverse, name=name, numbering="dataset")


def _fits(file: Path) -> bool:
    if file.name == MODEL_FILE:
        return True
    if file.suffix not in PICKLED:
        return False
    names = names_in(file)
    if not {f"{kind}_embeddings.weight" for kind in ("entity", "relation")} <= names:  # dice-embeddings has both
        names = frozenset(name.removeprefix(LIGHTNING) for name in names)
    is_model = any(name.startswith(("pykeen.models.", *STATE)) for name in names)
    return is_model or {"model_state_dict", "entity_to_id_dict"} <= names


READER = Reader(
    name="pykeen",
    summary="a folder of save_to_directory, its trained_model.pkl, or a state_dict, also a training loop's (.pt)",
    recognises=lambda path: contains_file(path, _fits),
    read=read,
    known_by=(frozenset({f"{kind}_representations.0._embeddings.weight" for kind in ("entity", "relation")}),),
)


def _refuse_without_formula(model: Module) -> None:
    if model.class_name.endswith("Baseline"):
        raise NoFormula(f"it is a {model.class_name}, which counts triples: kgeval reads no counts from files.")
    if model.state.get("predict_with_sigmoid"):
        raise NoFormula("it ranks on sigmoids of its scores (predict_with_sigmoid), which rounds high scores to ties.")


def _read_state(file: Path, content: dict[str, Any], options: Options) -> Checkpoint:
    """Read a state dictionary, and the ids of the labels if a training loop saved them or they lie beside it."""
    tensors = Tensors(file, unwrap_state_dict(content, options, file)).of_model(STATE)
    if not any(name.startswith(STATE) for name in tensors):
        fault = f"holds no vectors of entities under PyKEEN's names ({STATE[0]}… or {STATE[1]}…)"
        cure = f"name its tensors: --checkpoint-format {NAMED_BY_USER} {NAME_OPTIONS}"
        raise CheckpointError(f"{file}: {fault}, but {first_few([*tensors]) or 'no tensors'}. Else {cure}.")
    stored = {kind: content.get(f"{kind}_to_id_dict") for kind in ("entity", "relation")}
    inside = {kind: vocabulary_of_ids(file, ids, kind) for kind, ids in stored.items() if ids is not None}
    saved = CheckpointLabels(inside.get("entity"), inside.get("relation"))
    labels = saved if inside else find_labels(file.parent, options, LABELS)
    name = options.require("model", None, file.name, sorted(REQUIRED_OPTIONS))
    model = model_of_state(tensors, name, options, file.name)
    with naming(file):
        family = family_of(PyKEENModel.of(model, inverse=False), name)
        inverse = _is_reciprocal(file, family.num_relations, labels.relations, options)
        family = family_of(PyKEENModel.of(model, inverse=inverse), name)
    tensors.refuse_unused(name, *IGNORED_TENSORS)
    return labels.checkpoint(family, "pykeen", [file], options, reciprocal=inverse, name=name, numbering="dataset")


def model_of_state(tensors: Tensors, name: str, options: Options, where: str) -> Module:
    """Make the tree of modules of a state dictionary; the attributes that its interaction needs are options."""
    model = Module.from_state_dict(tensors)
    model.state["_modules"].setdefault("interaction", Module.from_state_dict(Tensors(tensors.path, {})))
    for key, choices in REQUIRED_OPTIONS[name].items():
        _set_attribute(model, key, options.require(key, None, where, choices))
    return model


def _set_attribute(model: Module, key: str, value: Any) -> None:
    """Set an attribute that the state dictionary does not hold: a normaliser of vectors, or one of the interaction."""
    kind = key.removesuffix("_normalizer")
    if kind == key:
        model.state["_modules"]["interaction"].state[key] = value
    elif value != "none" and (vectors := model.child(f"{kind}_representations.0")) is not None:
        vectors.state["normalizer"] = NORMALIZERS[kind]


def _is_reciprocal(file: Path, count: int, relations: Vocabulary | None, options: Options) -> bool:
    """Whether the model has inverse relations: twice as many as the labels or the dataset say; else the option says."""
    stored, where = None, file.name
    if relations is not None:
        stored = count == 2 * len(relations)
    elif options.dataset is not None:
        known, where = len(options.dataset.relations), f"the number of relations of dataset {options.dataset.name}"
        stored = {known: False, 2 * known: True}.get(count)
    return bool(options.require("reciprocal", stored, where, [True, False]))
