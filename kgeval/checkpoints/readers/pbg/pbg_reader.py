"""PyTorch-BigGraph's models: HDF5 files of the version that ``checkpoint_version.txt`` names, and their configuration.

With dynamic relations every relation has an operator for heads and one for tails, and each side's queries use their
own; without, each has one operator of its kind, for tails. Entities may be of several types: a relation takes heads of
one and tails of one, and only these are candidates. A maximal norm and a global embedding are applied to the entities
when they are read. Needs h5py: the extra ``kgeval[pbg]``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.readers.pbg.pbg_labels import labels_of
from kgeval.checkpoints.readers.pbg.pbg_model import CONFIG, VERSION, PBGModel, read_model
from kgeval.checkpoints.readers.pbg.pbg_tables import entities_of, operators_of
from kgeval.checkpoints.shared.locate import find_checkpoint_folder
from kgeval.errors import CheckpointError
from kgeval.scorers.families.products.biggraph import BigGraph
from kgeval.scorers.families.products.complex import ComplEx
from kgeval.scorers.families.products.distmult import DistMult
from kgeval.scorers.families.products.rescal import RESCAL
from kgeval.scorers.family import Family
from kgeval.scorers.wrappers.entity_types import Typed
from kgeval.scorers.wrappers.reciprocal import Reciprocal

BILINEAR: dict[str, Callable[[Any, Any], Family]] = {"diagonal": DistMult, "linear": RESCAL}
"""the families that are equivalent to a static operator with a dot product"""


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model; its labels lie in the ``entity_path`` of its configuration, or in the folder of option ``labels``.

    Raises
    ------
    CheckpointError
        if h5py or a file is missing, if a file is damaged, or if entities are sets of features
    """
    folder = _folder(path)
    if folder is None:
        raise CheckpointError(f"{str(path)!r}: holds no checkpoint of PyTorch-BigGraph.")
    model = read_model(folder)
    tables = [entities_of(model, kind) for kind in model.types]
    entity = _stacked(model, tables)
    relation = operators_of(model, entity.shape[1])
    for name, value in (("operator", model.operator), ("comparator", model.config["comparator"])):
        options.resolve(name, value, CONFIG)
    for name in ("dynamic_relations", "bias"):
        options.resolve(name, model.truth_value(name), CONFIG)
    family = _family(model, entity, relation)
    options.record_origins(family, "PyTorch-BigGraph", operand="dynamic_relations")
    option = options.resolve("labels", None, "")
    labels = labels_of(model, None if option is None else str(option))
    scorer = Reciprocal(family) if model.dynamic else family
    sizes = [len(table) for table in tables]
    embeddings = [path for kind in model.types for path in model.embeddings(kind)]
    return Checkpoint(
        scorer if len(sizes) == 1 else Typed(scorer, labels.entity_types(model, sizes, scorer.num_relations)),
        "pbg",
        (folder / CONFIG, folder / VERSION, model.file("model"), *embeddings, *labels.files),
        labels.entities,
        labels.relations,
        options.origins,
        name=f"{'/'.join(model.operators)}, {model.config['comparator']}",
        numbering="files",
        layouts=("pbg",),
    )


def _stacked(model: PBGModel, tables: list[FloatArray]) -> FloatArray:
    """Lay the tables of all types below each other."""
    widths = [table.shape[1] for table in tables]
    if len(set(widths)) > 1:
        found = ", ".join(f"{kind} {width}" for kind, width in zip(model.types, widths, strict=True))
        raise CheckpointError(f"{model.folder}: kgeval reads types of entities of one width; found {found:.200}.")
    return np.concatenate(tables) if len(tables) > 1 else tables[0]


def _family(model: PBGModel, entity: FloatArray, relation: FloatArray) -> Family:
    """Make the family of a model: an equivalent one of vectors for a static operator with a dot product."""
    if not model.dynamic and model.config["comparator"] == "dot" and not model.bias:
        if model.operator == "complex_diagonal":
            # A real dot product of h and r∘t, as Re Σ h conj(r) conj(t).
            real, imaginary = np.split(relation, 2, axis=1)
            return ComplEx(entity, np.concatenate([real, -imaginary], axis=1))
        if model.operator in BILINEAR:
            return BILINEAR[str(model.operator)](entity, relation)
    options = {
        "operator": model.operator,
        "comparator": model.config["comparator"],
        "operand": "head" if model.dynamic else "tail",
        "bias": model.bias,
    }
    return BigGraph.build({"entity": entity, "relation": relation}, options)


def _folder(path: Path) -> Path | None:
    return find_checkpoint_folder(path, lambda folder: (folder / VERSION).is_file() and (folder / CONFIG).is_file())


READER = Reader(
    name="pbg",
    summary="a checkpoint folder of PyTorch-BigGraph (checkpoint_version.txt, config.json, *.h5); needs kgeval[pbg]",
    recognises=lambda path: _folder(path) is not None,
    read=read,
    known_by=(frozenset({VERSION, CONFIG}),),
)
