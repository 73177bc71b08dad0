"""AmpliGraph's models. They are no table of tensors: a SavedModel of numbered variables, or a pickle of objects.

Version 2 saves the first, and a pickle of labels; version 1 the second. AmpliGraph compares scores in thousandths; here
they are compared as they are.

Its own evaluation, which is not that of AmpliGraph 2, is the protocol ``ampligraph1``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.arrays import FloatArray
from kgeval.base.errors import CheckpointError
from kgeval.base.pickled import read_pickle
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.reader import Reader
from kgeval.models.checkpoints.readers.tensor_bundle import keras_settings, read_bundle
from kgeval.models.checkpoints.shared.layers import check_shape, naming, readable
from kgeval.models.checkpoints.shared.locate import (
    CheckpointLabels,
    contains_file,
    find_checkpoint_file,
    find_checkpoint_folder,
    find_labels,
    vocabulary_of_ids,
)
from kgeval.models.checkpoints.shared.state_dict_format import holds
from kgeval.models.families.bilinear import DistMult
from kgeval.models.families.complex import ComplEx, RotatE
from kgeval.models.families.translations import TransE
from kgeval.models.family import Family

KERAS = "keras_metadata.pb"
NORM = 1
"""the p of TransE's distance where its hyperparameters do not say it"""

VARIABLE = "variables/{}/.ATTRIBUTES/VARIABLE_VALUE"


def read_ampligraph2(path: Path, options: Options) -> Checkpoint:
    """Read a model, its name from Keras's metadata and its labels from the ``.ampkl``, or else from label files."""
    folder = find_checkpoint_folder(path, KERAS, "variables") or path
    settings, tensors = keras_settings(folder / KERAS), read_bundle(folder / "variables")
    name = options.require("scoring_type", settings.get("scoring_type"), KERAS, list(MODELS))
    with readable(folder / "variables", "model of AmpliGraph 2"):
        entity, relation = _tables(folder / "variables", *(tensors[VARIABLE.format(index)] for index in range(2)))
    family = MODELS[name](entity, relation, settings | {"norm": NORM})
    options.record_origins(family, "AmpliGraph")
    pickles = sorted(folder.glob("*_metadata.ampkl"))
    found = find_labels(folder, options)
    if found.entities is None and pickles:
        found = _pickled_labels(pickles[0])
    files = (folder / KERAS, *sorted((folder / "variables").iterdir()))
    return found.checkpoint(family, "ampligraph", files, options, name=name, numbering="files")


def _tables(where: Path, entity: Any, relation: Any) -> tuple[FloatArray, FloatArray]:
    with naming(where):
        entities = check_shape("entities", entity, None, None)
        return entities, check_shape("relations", relation, None, entities.shape[1])


def _number(settings: dict[str, Any], name: str) -> int:
    value = settings.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise CheckpointError(f"{KERAS}: {name} is {value!r}; expected a positive number.")
    return value


def _rotate(entity: FloatArray, relation: FloatArray, settings: dict[str, Any]) -> Family:
    """Phases are stored in units of Glorot's range over π; the second half of the relations is not used."""
    size, width = _number(settings, "max_rel_size"), _number(settings, "k")  # so many complex dimensions
    extent = np.sqrt(6 / (2 * width * size))
    return RotatE(entity, np.asarray(relation[:, :width], np.float64) / (extent / np.pi), 1)


def _hole(entity: FloatArray, relation: FloatArray, width: float) -> Family:
    """In the frequency domain: 2 over the number of its dimensions times ComplEx."""
    return ComplEx(entity, np.asarray(relation, np.float64) * (2 / width))


MODELS: dict[str, Callable[[FloatArray, FloatArray, dict[str, Any]], Family]] = {
    "TransE": lambda entity, relation, settings: TransE(entity, relation, settings["norm"]),
    "DistMult": lambda entity, relation, _: DistMult(entity, relation),
    "ComplEx": lambda entity, relation, _: ComplEx(entity, relation),
    "HolE": lambda entity, relation, settings: _hole(entity, relation, _number(settings, "k")),
    "RotatE": _rotate,
}


def _pickled_labels(file: Path) -> CheckpointLabels:
    content = read_pickle(file)
    if not isinstance(content, dict):
        raise CheckpointError(f"{file}: holds no labels of AmpliGraph.")
    entities = _vocabulary(content.get("entities_dict"), "entity", file)
    return CheckpointLabels(entities, _vocabulary(content.get("relations_dict"), "relation", file), (file,))


def _vocabulary(named: Any, kind: str, file: Path) -> Vocabulary:
    if not isinstance(named, dict):
        raise CheckpointError(
            f"{file}: its {kind} labels are in a database of AmpliGraph, not in this file. Write them to entities.tsv "
            "and relations.tsv (id<TAB>label), and give their folder with the option labels=FOLDER."
        )
    return vocabulary_of_ids(file, {label: row for row, label in named.items() if isinstance(label, str)}, kind)


AMPLIGRAPH2 = Reader(
    name="ampligraph",
    summary="a folder that AmpliGraph 2 saved (saved_model.pb, keras_metadata.pb, variables, *_metadata.ampkl)",
    recognises=lambda path: find_checkpoint_folder(path, KERAS, "variables") is not None,
    read=read_ampligraph2,
    known_by=(frozenset({KERAS, "variables"}),),
)


NAMES = frozenset({"class_name", "hyperparams", "ent_to_idx", "rel_to_idx", "model_params"})

LABELS = (str, int)
"""types of labels: those of a graph whose triples were an array of numbers are numbers"""

MODELS1 = [name for name in MODELS if name != "RotatE"]
"""the models of version 1"""


def read_ampligraph1(path: Path, options: Options) -> Checkpoint:
    """Read a model; its name, the norm of a TransE and the labels are in the file."""
    file = find_checkpoint_file(path, [_fits], "model of AmpliGraph 1")
    content = read_pickle(file)
    with readable(file, "model of AmpliGraph 1"):
        stored, further = content["class_name"], content["hyperparams"].get("embedding_model_params", {})
        norm = further.get("norm", NORM)
        entity_ids, relation_ids = content["ent_to_idx"], content["rel_to_idx"]
        entity, relation = content["model_params"]
        entity, relation = _tables(file, entity, relation)
    name = options.require("model", stored, file.name, MODELS1)
    norm = options.require("norm", norm, file.name, [1, 2]) if name == "TransE" else None
    family = MODELS[name](entity, relation, {"norm": norm, "k": relation.shape[1] // 2})
    entities = vocabulary_of_ids(file, entity_ids, "entity", LABELS)
    relations = vocabulary_of_ids(file, relation_ids, "relation", LABELS)
    return CheckpointLabels(entities, relations).checkpoint(family, "ampligraph1", [file], options, name=name)


_fits = holds({".pkl", ".pickle"}, NAMES)

AMPLIGRAPH1 = Reader(
    name="ampligraph1",
    summary="a model that AmpliGraph 1 saved (.pkl); its own evaluation is the protocol of the same name",
    recognises=lambda path: contains_file(path, _fits),
    read=read_ampligraph1,
)
