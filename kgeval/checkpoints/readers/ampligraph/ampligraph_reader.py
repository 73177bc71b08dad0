"""AmpliGraph 2's models: a TensorFlow SavedModel and a pickle of the labels, read without TensorFlow.

AmpliGraph compares scores in thousandths; here they are compared as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.readers.ampligraph.tensor_bundle import keras_settings, read_bundle
from kgeval.checkpoints.shared.locate import CheckpointLabels, find_checkpoint_folder, find_labels
from kgeval.checkpoints.shared.shapes import check_shape
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import CheckpointError
from kgeval.pickles.pickled import read_pickle
from kgeval.scorers.families.distances.rotate import RotatE
from kgeval.scorers.families.distances.transe import TransE
from kgeval.scorers.families.products.complex import ComplEx
from kgeval.scorers.families.products.distmult import DistMult
from kgeval.scorers.family import Family

KERAS = "keras_metadata.pb"
VARIABLE = "variables/{}/.ATTRIBUTES/VARIABLE_VALUE"


@dataclass(frozen=True)
class AmpliGraphModel:
    """What a model family is made of."""

    entity: FloatArray
    relation: FloatArray
    settings: dict[str, Any]

    @property
    def k(self) -> int:
        """How many dimensions the model has, complex ones where it is complex."""
        k = self.settings.get("k")
        if not isinstance(k, int) or isinstance(k, bool) or k <= 0:
            raise CheckpointError(f"{KERAS}: k is {k!r}; expected a positive number.")
        return k


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model, its name from Keras's metadata and its labels from the ``.ampkl``, or else from label files.

    Raises
    ------
    CheckpointError
        if a file is missing or damaged, or if kgeval has no family for the model
    """
    folder = _folder(path)
    if folder is None:
        raise CheckpointError(f"{str(path)!r}: holds no model that AmpliGraph 2 saved.")
    settings, tensors = keras_settings(folder / KERAS), read_bundle(folder / "variables")
    name = options.require("scoring_type", settings.get("scoring_type"), KERAS, list(MODELS))
    try:
        entity = check_shape("entities", tensors[VARIABLE.format(0)], None, None)
        relation = check_shape("relations", tensors[VARIABLE.format(1)], None, entity.shape[1])
    except KeyError as error:
        raise CheckpointError(f"{folder / 'variables'}: the variable {error} is missing.") from error
    except CheckpointError as error:
        raise CheckpointError(f"{folder / 'variables'}: {error}") from error
    family = MODELS[name](AmpliGraphModel(entity, relation, settings))
    options.record_origins(family, "AmpliGraph")
    pickles = sorted(folder.glob("*_metadata.ampkl"))
    found = find_labels(folder, options)
    if found.entities is None and pickles:
        found = _pickled_labels(pickles[0])
    return Checkpoint(
        family,
        "ampligraph",
        (folder / KERAS, *sorted((folder / "variables").iterdir()), *found.files),
        found.entities,
        found.relations,
        options.origins,
        name=name,
        numbering="files",
    )


def _rotate(parts: AmpliGraphModel) -> Family:
    """Phases are stored in units of Glorot's range over π; the second half of the relations is not used."""
    size = parts.settings.get("max_rel_size")
    if not isinstance(size, int) or isinstance(size, bool) or size <= 0:
        raise CheckpointError(f"{KERAS}: max_rel_size is {size!r}, so that phases have no unit.")
    extent = np.sqrt(6 / (2 * parts.k * size))
    return RotatE(parts.entity, np.asarray(parts.relation[:, : parts.k], np.float64) / (extent / np.pi), 1)


MODELS: dict[str, Callable[[AmpliGraphModel], Family]] = {
    "TransE": lambda parts: TransE(parts.entity, parts.relation, 1),
    "DistMult": lambda parts: DistMult(parts.entity, parts.relation),
    "ComplEx": lambda parts: ComplEx(parts.entity, parts.relation),
    # In the frequency domain: 2/k times ComplEx.
    "HolE": lambda parts: ComplEx(parts.entity, np.asarray(parts.relation, np.float64) * (2 / parts.k)),
    "RotatE": _rotate,
}


def _pickled_labels(file: Path) -> CheckpointLabels:
    """Read the labels that are in the pickle itself."""
    content = read_pickle(file)
    if not isinstance(content, dict):
        raise CheckpointError(f"{file}: holds no labels of AmpliGraph.")
    entities, relations = (_vocabulary(content.get(f"{kind}_dict"), kind, file) for kind in ("entities", "relations"))
    return CheckpointLabels(entities, relations, (file,))


def _vocabulary(named: Any, kind: str, file: Path) -> Vocabulary:
    if not isinstance(named, dict):
        raise CheckpointError(
            f"{file}: its {kind} are not in it, but in a database of AmpliGraph's. Write entities.tsv and "
            "relations.tsv (id<TAB>label) from it, and name their folder with the option labels."
        )
    try:
        ordered = [named[row] for row in range(len(named))]
    except KeyError as error:
        raise CheckpointError(f"{file}: its {kind} are not numbered from 0 to {len(named) - 1}.") from error
    if not all(isinstance(label, str) for label in ordered):
        raise CheckpointError(f"{file}: its {kind} are not all text.")
    return Vocabulary(ordered, "entity" if kind == "entities" else "relation")


def _folder(path: Path) -> Path | None:
    return find_checkpoint_folder(path, lambda folder: (folder / KERAS).is_file() and (folder / "variables").is_dir())


READER = Reader(
    name="ampligraph",
    summary="a folder that AmpliGraph 2 saved (saved_model.pb, keras_metadata.pb, variables, *_metadata.ampkl)",
    recognises=lambda path: _folder(path) is not None,
    read=read,
    known_by=(frozenset({KERAS, "variables"}),),
)
