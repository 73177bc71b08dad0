"""AmpliGraph 1's models: one pickle of plain dictionaries and arrays, with labels, hyperparameters and both tables.

Its own evaluation, which is not that of AmpliGraph 2, is the protocol ``ampligraph1``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.shared.locate import contains_file, find_checkpoint_file
from kgeval.checkpoints.shared.shapes import check_shape
from kgeval.checkpoints.shared.tensors import names_in
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import CheckpointError
from kgeval.pickles.pickled import read_pickle
from kgeval.scorers.families.distances.transe import TransE
from kgeval.scorers.families.products.complex import ComplEx
from kgeval.scorers.families.products.distmult import DistMult
from kgeval.scorers.family import Family

NAMES = frozenset({"class_name", "hyperparams", "ent_to_idx", "rel_to_idx", "model_params"})

LABELS = (str, int)
"""types of labels: those of a graph whose triples were an array of numbers are numbers"""

NORM = 1
"""the p of TransE's distance where its hyperparameters do not say it"""

MODELS: dict[str, Callable[[Any, Any, Any], Family]] = {
    "TransE": TransE,
    "DistMult": lambda entity, relation, _: DistMult(entity, relation),
    "ComplEx": lambda entity, relation, _: ComplEx(entity, relation),
    # In the frequency domain: 2/k times ComplEx.
    "HolE": lambda entity, relation, _: ComplEx(entity, np.asarray(relation, np.float64) * (4 / relation.shape[1])),
}


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model; its name, the norm of a TransE and the labels are in the file.

    Raises
    ------
    CheckpointError
        if the file is damaged, or if kgeval has no family for the model
    """
    file = find_checkpoint_file(path, [_fits], "model of AmpliGraph 1")
    content = read_pickle(file)
    if not isinstance(content, dict) or not content.keys() >= NAMES:
        raise CheckpointError(f"{file}: holds no model of AmpliGraph 1: it has no {' or '.join(sorted(NAMES))}.")
    name = options.require("model", content["class_name"], file.name, list(MODELS))
    norm = options.require("norm", _norm(content["hyperparams"]), file.name, [1, 2]) if name == "TransE" else None
    try:
        entity, relation = content["model_params"]
        entity = check_shape("entities", entity, None, None)
        relation = check_shape("relations", relation, None, entity.shape[1])
    except CheckpointError as error:
        raise CheckpointError(f"{file}: {error}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(f"{file}: its model_params are not the tables of entities and of relations.") from error
    family = MODELS[name](entity, relation, norm)
    entities = _vocabulary(file, content["ent_to_idx"], "entity")
    relations = _vocabulary(file, content["rel_to_idx"], "relation")
    return Checkpoint(family, "ampligraph-1", (file,), entities, relations, options.origins, name=name)


def _norm(settings: Any) -> Any:
    further = settings.get("embedding_model_params") if isinstance(settings, dict) else None
    return further.get("norm", NORM) if isinstance(further, dict) else NORM


def _vocabulary(file: Path, ids: Any, kind: str) -> Vocabulary:
    typed = isinstance(ids, dict) and all(type(row) is int and type(label) in LABELS for label, row in ids.items())
    if not typed or sorted(ids.values()) != list(range(len(ids))):
        raise CheckpointError(f"{file}: its {kind} ids are not 0, 1, 2 and so on of labels.")
    return Vocabulary(map(str, sorted(ids, key=ids.__getitem__)), kind)


def _fits(file: Path) -> bool:
    return file.suffix in {".pkl", ".pickle"} and names_in(file) >= NAMES


READER = Reader(
    name="ampligraph-1",
    summary="a model that AmpliGraph 1 saved (.pkl); its own evaluation is the protocol ampligraph1",
    recognises=lambda path: contains_file(path, _fits),
    read=read,
)
