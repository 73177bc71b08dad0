"""PyTorch-BigGraph's models: HDF5 files of the version that ``checkpoint_version.txt`` names, and their configuration.

With dynamic relations every relation has an operator for heads and one for tails, and each side's queries use their
own; without, one operator for tails. What a row passes before it is compared (a maximal norm, a global embedding) is
applied here. Needs h5py: the extra ``kgeval[pbg]``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.shared.locate import find_checkpoint_folder
from kgeval.checkpoints.shared.shapes import check_shape
from kgeval.checkpoints.shared.tensors import check_same_rows
from kgeval.checkpoints.shared.truth_values import truth_value
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import CheckpointError
from kgeval.files.hdf5_files import Arrays, open_hdf5
from kgeval.files.opening import read_json, read_settings
from kgeval.paths import exists_safely, is_plain_name
from kgeval.scorers.families.products.biggraph import BigGraph
from kgeval.scorers.families.products.complex import ComplEx
from kgeval.scorers.families.products.distmult import DistMult
from kgeval.scorers.families.products.rescal import RESCAL
from kgeval.scorers.family import Family
from kgeval.scorers.numerics.ordered import lengths
from kgeval.scorers.wrappers.reciprocal import Reciprocal

VERSION, CONFIG = "checkpoint_version.txt", "config.json"

Shape = Callable[[int], tuple[int, ...]]
"""the shape of a parameter for entities of a width"""

PARAMETERS: dict[str, dict[str, Shape]] = {
    "none": {},
    "diagonal": {"diagonal": lambda width: (width,)},
    "translation": {"translation": lambda width: (width,)},
    "complex_diagonal": dict.fromkeys(("real", "imag"), lambda width: (width // 2,)),
    "linear": {"linear_transformation": lambda width: (width, width)},
    "affine": {"linear_transformation": lambda width: (width, width), "translation": lambda width: (width,)},
}
"""the tensors of each operator; those of dynamic relations are in the plural, but for real and imag"""

BILINEAR: dict[str, Callable[[Any, Any], Family]] = {"diagonal": DistMult, "linear": RESCAL}
"""the families that a static operator and a dot product come to"""

SLACK = 1e-7
"""what PyTorch adds to a norm before it divides by it"""


@dataclass(frozen=True)
class Model:
    """A checkpoint folder, its configuration and its version."""

    folder: Path
    config: dict[str, Any]
    version: int

    @property
    def dynamic(self) -> bool:
        """Whether relations are rows of one operator."""
        return self.truth_value("dynamic_relations")

    @property
    def bias(self) -> bool:
        """Whether the first number of every row is a bias."""
        return self.truth_value("bias")

    def truth_value(self, name: str) -> bool:
        """Take a setting that is true or false."""
        return truth_value(self.folder / CONFIG, name, self.config.get(name))

    @property
    def kind(self) -> str:
        """The only type of entities."""
        return str(next(iter(self.config["entities"])))

    @property
    def parts(self) -> int:
        """How many files the entities are partitioned into."""
        return int(self.config["entities"][self.kind].get("num_partitions", 1))

    @property
    def operator(self) -> str:
        """The only operator."""
        return str(self.config["relations"][0]["operator"])

    def file(self, stem: str) -> Path:
        """Name an HDF5 file of this version."""
        return self.folder / f"{stem}.v{self.version}.h5"

    @property
    def embeddings(self) -> list[Path]:
        """The files of the entities' embeddings."""
        return [self.file(f"embeddings_{self.kind}_{part}") for part in range(self.parts)]


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model; its labels lie in the ``entity_path`` of its configuration, or in the folder of option ``labels``.

    Raises
    ------
    CheckpointError
        if h5py or a file is missing, if a file is damaged, or if entities are of several types
    """
    folder = _folder(path)
    if folder is None:
        raise CheckpointError(f"{str(path)!r}: holds no checkpoint of PyTorch-BigGraph.")
    model = _model(folder)
    entity = _entities(model)
    relation = _relation(model, entity.shape[1])
    for name, value in (("operator", model.operator), ("comparator", model.config["comparator"])):
        options.resolve(name, value, CONFIG)
    options.resolve("dynamic_relations", model.dynamic, CONFIG)
    options.resolve("bias", model.bias, CONFIG)
    family = _family(model, entity, relation)
    options.record_origins(family, "PyTorch-BigGraph", operand="dynamic_relations")
    entities, relations, files = _labels(model, options)
    return Checkpoint(
        Reciprocal(family) if model.dynamic else family,
        "pbg",
        (folder / CONFIG, folder / VERSION, model.file("model"), *model.embeddings, *files),
        entities,
        relations,
        options.origins,
        name=f"{model.operator}, {model.config['comparator']}",
        numbering="files",
        layouts=("pbg",),
    )


def _model(folder: Path) -> Model:
    try:
        config = read_json(folder / CONFIG)
        model = Model(folder, config, int(read_settings(folder / VERSION)))
        operators = {relation["operator"] for relation in config["relations"]}
        kinds = {relation[side] for relation in config["relations"] for side in ("lhs", "rhs")}
        known = model.operator in PARAMETERS and "comparator" in config
        longest, parts = config.get("max_norm"), model.parts
        known = known and (model.dynamic or bool(_names(model, None)))
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{folder / CONFIG}: cannot be read ({type(error).__name__}: {error}).") from error
    if len(operators) != 1 or len(kinds) != 1 or len(config["entities"]) != 1 or not known:
        raise CheckpointError(
            f"{folder / CONFIG}: kgeval reads models with one type of entities and one of the operators "
            f"{', '.join(PARAMETERS)}; found types {sorted(config['entities'])}, operators {sorted(operators)}."
        )
    if not is_plain_name(model.kind):
        raise CheckpointError(
            f"{folder / CONFIG}: the type {model.kind!r:.60} of entities is no part of a file's name."
        )
    if not _is_norm(longest) or not 0 < parts <= sum(1 for _ in folder.iterdir()):
        raise CheckpointError(f"{folder / CONFIG}: max_norm is {longest!r:.60}, and there are {parts} partitions.")
    return model


def _is_norm(longest: Any) -> bool:
    """Whether a maximal norm is one, or none is said."""
    is_number = isinstance(longest, int | float) and not isinstance(longest, bool)
    return longest is None or (is_number and 0 < longest <= sys.float_info.max)


def _family(model: Model, entity: FloatArray, relation: FloatArray) -> Family:
    """Take a family that scores vectors where a static operator and a dot product come to one."""
    if not model.dynamic and model.config["comparator"] == "dot" and not model.bias:
        if model.operator == "complex_diagonal":
            # A real dot product of h and r∘t, as Re Σ h conj(r) conj(t).
            real, imaginary = np.split(relation, 2, axis=1)
            return ComplEx(entity, np.concatenate([real, -imaginary], axis=1))
        if model.operator in BILINEAR:
            return BILINEAR[model.operator](entity, relation)
    options = {
        "operator": model.operator,
        "comparator": model.config["comparator"],
        "operand": "head" if model.dynamic else "tail",
        "bias": model.bias,
    }
    return BigGraph.build({"entity": entity, "relation": relation}, options)


def _relation(model: Model, width: int) -> FloatArray:
    """Lay the operators' parameters out, one row a relation; of dynamic relations those of heads, then of tails."""
    shapes = {name: shape(width) for name, shape in PARAMETERS[model.operator].items()}
    if not shapes:
        count = len(_names(model, None)) if model.dynamic else len(model.config["relations"])
        return np.zeros((2 * count if model.dynamic else count, 1), np.float32)
    with open_hdf5(model.file("model")) as file:
        if not model.dynamic:
            count = len(model.config["relations"])
            return np.stack([_parameters(file, f"{index}/operator/rhs", shapes) for index in range(count)])
        plural = {name if name in {"real", "imag"} else f"{name}s": shape for name, shape in shapes.items()}
        heads = _parameters(file, "0/operator/lhs", plural, None)
        return np.concatenate([heads, _parameters(file, "0/operator/rhs", plural, len(heads))])


def _parameters(file: Arrays, place: str, shapes: dict[str, tuple[int, ...]], *rows: int | None) -> FloatArray:
    """Lay an operator's parameters side by side, as one row or as a table with a row for each relation."""
    arrays = [_array(file, f"model/relations/{place}/{name}", *rows, *shape) for name, shape in shapes.items()]
    flat = [array.reshape(*array.shape[: len(rows)], -1) for array in arrays]
    if rows:
        check_same_rows(file.path, flat)
    return np.concatenate(flat, axis=-1)


def _entities(model: Model) -> FloatArray:
    """Read the entities, as they are when they meet the operator."""
    parts: list[FloatArray] = []
    for path in model.embeddings:
        with open_hdf5(path) as file:
            parts.append(_array(file, "embeddings", None, parts[0].shape[1] if parts else None))
    entity: FloatArray = np.concatenate(parts)
    most = model.config.get("max_norm")
    if most is not None:
        norms = lengths(np.asarray(entity, np.float64))
        entity = np.where(norms > most, entity * (most / (norms + SLACK)), entity)
    if model.truth_value("global_emb") and not model.dynamic:
        with open_hdf5(model.file("model")) as file:
            place = f"model/entities/{model.kind}/global_embedding"
            entity = np.asarray(entity, np.float64) + _array(file, place, entity.shape[1])
    return entity


def _array(file: Arrays, name: str, *shape: int | None) -> FloatArray:
    """Read an array of floating-point numbers, of that shape."""
    array = file.read(name)
    if array.dtype.kind != "f":
        raise CheckpointError(f"{file.path}: {name!r} is {array.dtype} {array.shape}; expected floating-point numbers.")
    try:
        return check_shape(name, array, *shape)
    except CheckpointError as error:
        raise CheckpointError(f"{file.path}: {error}") from error


def _labels(model: Model, options: Options) -> tuple[Vocabulary | None, Vocabulary | None, tuple[Path, ...]]:
    named = options.resolve("labels", None, "")
    place = Path(str(named)) if named is not None else _entity_path(model)
    files = [place / f"entity_names_{model.kind}_{part}.json" for part in range(model.parts)]
    if not all(exists_safely(file) and file.is_file() for file in files):
        if named is not None:
            raise CheckpointError(f"labels={str(named)!r} is no folder with {files[0].name} in it.")
        return None, _vocabulary([] if model.dynamic else _names(model, None), "relation"), ()
    entities = [label for file in files for label in _json_list(file)]
    rest = [place / "dynamic_rel_names.json"] if model.dynamic else []
    return _vocabulary(entities, "entity"), _vocabulary(_names(model, place), "relation"), (*files, *rest)


def _vocabulary(labels: list[str], kind: str) -> Vocabulary | None:
    return Vocabulary(labels, kind) if labels else None


def _names(model: Model, place: Path | None) -> list[str]:
    if model.dynamic:
        return _json_list((place or _entity_path(model)) / "dynamic_rel_names.json")
    return [str(relation["name"]) for relation in model.config["relations"]]


def _json_list(file: Path) -> list[str]:
    try:
        names = read_json(file)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{file}: cannot be read ({error}).") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CheckpointError(f"{file}: no list of names.")
    return names


def _entity_path(model: Model) -> Path:
    """Find the folder of the names: from where the checkpoint folder is what the configuration calls it.

    Raises
    ------
    CheckpointError
        if it leads elsewhere: a checkpoint of others would choose which files of this machine are read
    """
    entity_path, checkpoint_path = (Path(str(model.config.get(name))) for name in ("entity_path", "checkpoint_path"))
    if entity_path.is_absolute() or ".." in entity_path.parts:
        raise CheckpointError(
            f"{model.folder / CONFIG}: its entity_path {str(entity_path)!r:.200} leads out of the folders around it. "
            "Give the folder of the names by the option labels."
        )
    depth = len(checkpoint_path.parts)
    above = model.folder.resolve()
    if not checkpoint_path.is_absolute() and above.parts[-depth:] == checkpoint_path.parts:
        return above.parents[depth - 1] / entity_path
    return above.parent / entity_path.name


def _folder(path: Path) -> Path | None:
    return find_checkpoint_folder(path, lambda folder: (folder / VERSION).is_file() and (folder / CONFIG).is_file())


READER = Reader(
    name="pbg",
    summary="a checkpoint folder of PyTorch-BigGraph (checkpoint_version.txt, config.json, *.h5); needs kgeval[pbg]",
    recognises=lambda path: _folder(path) is not None,
    read=read,
    known_by=(frozenset({VERSION, CONFIG}),),
)
