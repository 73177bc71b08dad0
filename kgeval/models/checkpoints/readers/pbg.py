"""PyTorch-BigGraph's models: HDF5 files of the version that ``checkpoint_version.txt`` names, and their configuration.

``load_checkpoint`` calls the reader: a path and the user's options become a ``Checkpoint``.

The files and formulas
----------------------
An operator of a relation changes the vector of an entity before two vectors are compared. With dynamic relations, every
relation has an operator for heads and one for tails, and the queries of a side use the one of their side. Otherwise, a
relation has one operator, for tails, whose kind may differ by relation. Entities may be of several types: a relation
takes heads of one type and tails of one type, and only these are candidates. A maximal norm and a global embedding are
applied to the entities when they are read. Needs h5py: the extra ``kgeval[pbg]``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.arrays import FloatArray
from kgeval.base.containers import Arrays, open_hdf5
from kgeval.base.errors import CheckpointError
from kgeval.base.files import exists_safely, is_plain_name, read_json, read_settings
from kgeval.data.layouts.ogb_and_pbg import read_names
from kgeval.data.triples import Side
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.labels import CheckpointLabels, named_folder
from kgeval.models.checkpoints.locate import find_checkpoint_folder, naming, readable
from kgeval.models.checkpoints.options import Options, truth_value
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.checkpoints.tensors import check_same_rows, check_shape
from kgeval.models.families.bilinear import RESCAL, DistMult
from kgeval.models.families.complex import ComplEx
from kgeval.models.families.projections import BigGraph
from kgeval.models.family import Family
from kgeval.models.mapped import EntityTypes, Reciprocal, Typed
from kgeval.models.ordered import norms_column

VERSION, CONFIG = "checkpoint_version.txt", "config.json"


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model; its labels are in the ``entity_path`` of its configuration, or in the folder ``labels``."""
    folder = find_checkpoint_folder(path, VERSION, CONFIG) or path
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
    labels = labels_of(model, named_folder(options))
    scorer = Reciprocal(family) if model.dynamic else family
    sizes = [len(table) for table in tables]
    embeddings = [path for kind in model.types for path in model.embeddings(kind)]
    typed = scorer if len(sizes) == 1 else Typed(scorer, labels.entity_types(model, sizes, scorer.num_relations))
    files = (folder / CONFIG, folder / VERSION, model.file("model"), *embeddings)
    name = f"{'/'.join(model.operators)}, {model.config['comparator']}"
    return labels.checkpoint(typed, "pbg", files, options, name=name, numbering="files", layouts=("pbg",))


READER = Reader(
    name="pbg",
    summary="a checkpoint folder of PyTorch-BigGraph (checkpoint_version.txt, config.json, *.h5); needs kgeval[pbg]",
    recognises=lambda path: find_checkpoint_folder(path, VERSION, CONFIG) is not None,
    read=read,
    known_by=(frozenset({VERSION, CONFIG}),),
)


def _family(model: PBGModel, entity: FloatArray, relation: FloatArray) -> Family:
    """Make the family of a model: for static operators and dot products, an equivalent family such as DistMult.

    With ``bias``, the first number of every row is a bias.
    """
    bias = model.truth_value("bias")
    if not model.dynamic and model.config["comparator"] == "dot" and not bias:
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
        "bias": bias,
    }
    return BigGraph.build({"entity": entity, "relation": relation}, options)


BILINEAR: dict[str, Callable[[Any, Any], Family]] = {"diagonal": DistMult, "linear": RESCAL}
"""the families that are equivalent to a static operator with a dot product"""


def _stacked(model: PBGModel, tables: list[FloatArray]) -> FloatArray:
    widths = [table.shape[1] for table in tables]
    if len(set(widths)) > 1:
        shown = ", ".join(f"{kind} {width}" for kind, width in zip(model.types, widths, strict=True))
        raise CheckpointError(f"{model.folder}: vectors of all entity types must have one length; found {shown:.200}.")
    return np.concatenate(tables) if len(tables) > 1 else tables[0]


@dataclass(frozen=True)
class PBGModel:
    """A checkpoint folder and its configuration, which says what is in which file."""

    folder: Path
    config: dict[str, Any]
    version: int

    @property
    def dynamic(self) -> bool:
        """Whether relations are dynamic: rows of the parameters of one operator."""
        return self.truth_value("dynamic_relations")

    def truth_value(self, name: str) -> bool:
        return truth_value(self.folder / CONFIG, name, self.config.get(name))

    @property
    def relations(self) -> list[dict[str, Any]]:
        """The settings of each relation; if relations are dynamic, one entry for all of them."""
        return list(self.config["relations"])

    @property
    def operators(self) -> list[str]:
        return list(dict.fromkeys(str(relation["operator"]) for relation in self.relations))

    @property
    def operator(self) -> str | tuple[str, ...]:
        """The kind of all operators, or the kind of each relation's operator if they differ."""
        if len(self.operators) == 1:
            return self.operators[0]
        return tuple(str(relation["operator"]) for relation in self.relations)

    @property
    def types(self) -> list[str]:
        return list(dict.fromkeys(str(relation[side]) for side in ("lhs", "rhs") for relation in self.relations))

    def parts(self, kind: str) -> int:
        return int(self.config["entities"][kind].get("num_partitions", 1))

    def file(self, stem: str) -> Path:
        return self.folder / f"{stem}.v{self.version}.h5"

    def embeddings(self, kind: str) -> list[Path]:
        return [self.file(f"embeddings_{kind}_{part}") for part in range(self.parts(kind))]


Shape = Callable[[int], tuple[int, ...]]
"""a function from the width of the entities to the shape of a parameter"""

PARAMETERS: dict[str, dict[str, Shape]] = {
    "none": {},
    "diagonal": {"diagonal": lambda width: (width,)},
    "translation": {"translation": lambda width: (width,)},
    "complex_diagonal": dict.fromkeys(("real", "imag"), lambda width: (width // 2,)),
    "linear": {"linear_transformation": lambda width: (width, width)},
    "affine": {"linear_transformation": lambda width: (width, width), "translation": lambda width: (width,)},
}
"""the tensors of each kind of operator and their shapes; for dynamic relations, all names but real and imag are in the
plural"""


def read_model(folder: Path) -> PBGModel:
    """Read the configuration of a checkpoint folder; refuse models that kgeval has no formula for."""
    where = folder / CONFIG
    with readable(where, "configuration of PyTorch-BigGraph"):
        config = read_json(where)
        model = PBGModel(folder, config, int(read_settings(folder / VERSION)))
        known = set(model.operators) <= PARAMETERS.keys() and "comparator" in config
        known = known and (len(model.relations) == 1 if model.dynamic else bool(relation_names(model, None)))
        parts = [model.parts(kind) for kind in model.types]
        featurized = [kind for kind in model.types if config["entities"][kind].get("featurized")]
    if not known:
        fault = f"a comparator and the operators {', '.join(PARAMETERS)} (one operator if relations are dynamic)"
        raise CheckpointError(f"{where}: kgeval reads models with {fault}; found {', '.join(model.operators)!r:.200}.")
    if featurized:
        raise CheckpointError(f"{where}: featurized entities, such as {featurized[0]!r:.60}, are not read.")
    if foreign := [kind for kind in model.types if not is_plain_name(kind)]:
        raise CheckpointError(f"{where}: the entity type {foreign[0]!r:.60} cannot be part of a file name.")
    max_norm = config.get("max_norm")
    is_number = isinstance(max_norm, int | float) and not isinstance(max_norm, bool)
    is_norm = max_norm is None or (is_number and 0 < max_norm <= sys.float_info.max)
    if not is_norm or min(parts) < 1 or max(parts) > sum(1 for _ in folder.iterdir()):
        fault = f"found max_norm {max_norm!r:.60} and {max(parts)} partitions"
        raise CheckpointError(f"{where}: expected a positive max_norm and a file for each partition; {fault}.")
    return model


def relation_names(model: PBGModel, folder: Path | None) -> list[str]:
    """Return the names of the relations; if they are dynamic, from a folder, by default the ``entity_path``."""
    if model.dynamic:
        return list(read_names((folder or entity_path(model)) / "dynamic_rel_names.json", "relation"))
    return [str(relation["name"]) for relation in model.relations]


def entity_path(model: PBGModel) -> Path:
    """Return the folder of the names; ``entity_path`` and ``checkpoint_path`` are relative to the same folder."""
    names, checkpoint = (Path(str(model.config.get(key))) for key in ("entity_path", "checkpoint_path"))
    if names.is_absolute() or ".." in names.parts:
        fault = f"its entity_path {str(names)!r:.200} leads to another place"
        raise CheckpointError(f"{model.folder / CONFIG}: {fault}. Give the folder with the option labels=FOLDER.")
    folder, depth = model.folder.resolve(), len(checkpoint.parts)
    if not checkpoint.is_absolute() and folder.parts[-depth:] == checkpoint.parts:
        return folder.parents[depth - 1] / names
    return folder.parent / names.name


@dataclass(frozen=True)
class PBGLabels(CheckpointLabels):
    """The labels of a model's entities, relations and entity types."""

    types: tuple[Vocabulary, ...] = ()
    """the labels of each type; empty where the files of names are not found"""

    def entity_types(self, model: PBGModel, sizes: list[int], num_relations: int) -> EntityTypes:
        """Return the row of each entity in each type, -1 where it is not of that type, and the types of relations.

        The table of entities has one type after the other. An entity may be of several types, and then has several
        rows; without labels, every row is a separate entity.
        """
        entities, starts = self.entities, np.cumsum([0, *sizes])
        rows = np.full((len(sizes), starts[-1] if entities is None else len(entities)), -1)
        for place, (kind, size) in enumerate(zip(model.types, sizes, strict=True)):
            ids = np.arange(starts[place], starts[place + 1])
            if entities is not None and len(self.types[place]) != size:
                fault = f"{size} rows, but {len(self.types[place])} labels"
                raise CheckpointError(f"{model.folder}: the entities of type {kind!r} have {fault}.")
            rows[place, ids if entities is None else entities.ids(self.types[place].labels)] = ids
        sides: tuple[tuple[Side, str], ...] = (("head", "lhs"), ("tail", "rhs"))
        taken = {side: [model.types.index(str(relation[key])) for relation in model.relations] for side, key in sides}
        # The configuration of dynamic relations has one entry for all: np.resize repeats it.
        return EntityTypes(rows, {side: np.resize(types, num_relations) for side, types in taken.items()})


def labels_of(model: PBGModel, folder: Path | None) -> PBGLabels:
    """Read the labels in a folder, by default the ``entity_path`` of the configuration."""
    place = folder or entity_path(model)
    files = [[place / f"entity_names_{kind}_{part}.json" for part in range(model.parts(kind))] for kind in model.types]
    every = [file for of_kind in files for file in of_kind]
    are_there = all(exists_safely(file) and file.is_file() for file in every)
    if folder is not None and not are_there:
        raise CheckpointError(f"labels='{folder}': expected a folder with {', '.join(file.name for file in every)}.")
    types = [[label for file in of_kind for label in read_names(file, "entity")] for of_kind in files if are_there]
    names = relation_names(model, place) if are_there or not model.dynamic else []
    every += [place / "dynamic_rel_names.json"] if model.dynamic else []
    vocabularies = tuple(Vocabulary(labels) for labels in types) if all(types) else ()
    entities = Vocabulary(dict.fromkeys(chain.from_iterable(types))) if vocabularies else None
    relations = Vocabulary(names, "relation") if names else None
    return PBGLabels(entities, relations, tuple(every) if are_there else (), types=vocabularies)


SLACK = 1e-7
"""the number that PyTorch adds to a norm before it divides by it"""


def entities_of(model: PBGModel, kind: str) -> FloatArray:
    """Read the entities of a type, with the maximal norm and the type's global embedding applied."""
    parts: list[FloatArray] = []
    for path in model.embeddings(kind):
        with open_hdf5(path) as file:
            parts.append(_array(file, "embeddings", None, parts[0].shape[1] if parts else None))
    entity: FloatArray = np.concatenate(parts)
    if (most := model.config.get("max_norm")) is not None:
        norms = norms_column(np.asarray(entity, np.float64))
        entity = np.where(norms > most, entity * (most / (norms + SLACK)), entity)
    if model.truth_value("global_emb") and not model.dynamic:
        with open_hdf5(model.file("model")) as file:
            place = f"model/entities/{kind}/global_embedding"
            entity = np.asarray(entity, np.float64) + _array(file, place, entity.shape[1])
    return entity


def operators_of(model: PBGModel, width: int) -> FloatArray:
    """Read the parameters of the operators, a row for each relation; float[relation, longest row].

    If relations are dynamic, there are the rows for heads, then the rows for tails. If operators are of several kinds,
    shorter rows are filled up with zeros.
    """
    if model.operators == ["none"]:
        count = len(relation_names(model, None))
        return np.zeros((2 * count if model.dynamic else count, 1), np.float32)
    with open_hdf5(model.file("model")) as file:
        if model.dynamic:
            heads = _parameters(file, "0/operator/lhs", _shapes(model.operators[0], width, dynamic=True), None)
            tails = _parameters(file, "0/operator/rhs", _shapes(model.operators[0], width, dynamic=True), len(heads))
            return np.concatenate([heads, tails])
        operators = [_shapes(str(relation["operator"]), width) for relation in model.relations]
        rows = [_parameters(file, f"{index}/operator/rhs", shapes) for index, shapes in enumerate(operators)]
    widest = max(map(len, rows))
    return np.stack([np.pad(row, (0, widest - len(row))) for row in rows])


def _shapes(operator: str, width: int, *, dynamic: bool = False) -> dict[str, tuple[int, ...]]:
    """Return the shapes of an operator's tensors, by their names in the file."""
    shapes = {name: shape(width) for name, shape in PARAMETERS[operator].items()}
    return {name if not dynamic or name in {"real", "imag"} else f"{name}s": shape for name, shape in shapes.items()}


def _parameters(file: Arrays, place: str, shapes: dict[str, tuple[int, ...]], *rows: int | None) -> FloatArray:
    """Read and concatenate an operator's parameters, as one row or as a table with a row per relation."""
    arrays = [_array(file, f"model/relations/{place}/{name}", *rows, *shape) for name, shape in shapes.items()]
    flat = [array.reshape(*array.shape[: len(rows)], -1) for array in arrays]
    if rows:
        check_same_rows(file.path, flat)
    return np.concatenate(flat, axis=-1) if flat else np.zeros(0, np.float32)


def _array(file: Arrays, name: str, *shape: int | None) -> FloatArray:
    array = file.read(name)
    with naming(file.path):
        return check_shape(name, array, *shape)
