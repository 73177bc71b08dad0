"""The configuration of a PyTorch-BigGraph checkpoint: its operator, files and labels."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgeval.checkpoints.shared.truth_values import truth_value
from kgeval.errors import CheckpointError
from kgeval.files.opening import read_json, read_settings
from kgeval.paths import is_plain_name

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


@dataclass(frozen=True)
class PBGModel:
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


def read_model(folder: Path) -> PBGModel:
    """Read and check the configuration.

    Raises
    ------
    CheckpointError
        if it is damaged, or of a model with several types of entities or several operators
    """
    try:
        config = read_json(folder / CONFIG)
        model = PBGModel(folder, config, int(read_settings(folder / VERSION)))
        operators = {relation["operator"] for relation in config["relations"]}
        kinds = {relation[side] for relation in config["relations"] for side in ("lhs", "rhs")}
        known = model.operator in PARAMETERS and "comparator" in config
        max_norm, parts = config.get("max_norm"), model.parts
        known = known and (model.dynamic or bool(relation_names(model, None)))
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
    is_number = isinstance(max_norm, int | float) and not isinstance(max_norm, bool)
    is_norm = max_norm is None or (is_number and 0 < max_norm <= sys.float_info.max)
    if not is_norm or not 0 < parts <= sum(1 for _ in folder.iterdir()):
        raise CheckpointError(f"{folder / CONFIG}: max_norm is {max_norm!r:.60}, and there are {parts} partitions.")
    return model


def relation_names(model: PBGModel, folder: Path | None) -> list[str]:
    """Return the names of the relations, those of dynamic relations from a folder, by default the ``entity_path``."""
    if model.dynamic:
        return read_names((folder or entity_path(model)) / "dynamic_rel_names.json")
    return [str(relation["name"]) for relation in model.config["relations"]]


def read_names(file: Path) -> list[str]:
    """Read a JSON list of texts."""
    try:
        names = read_json(file)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{file}: cannot be read ({error}).") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CheckpointError(f"{file}: no list of names.")
    return names


def entity_path(model: PBGModel) -> Path:
    """Return the folder of the names, relative to the folder that ``checkpoint_path`` is relative to.

    Raises
    ------
    CheckpointError
        if it is absolute or has ``..``: an untrusted checkpoint could then choose which files of this machine are read
    """
    names, checkpoint = (Path(str(model.config.get(key))) for key in ("entity_path", "checkpoint_path"))
    if names.is_absolute() or ".." in names.parts:
        raise CheckpointError(
            f"{model.folder / CONFIG}: its entity_path {str(names)!r:.200} leads out of the folders around it. "
            "Give the folder of the names by the option labels."
        )
    folder, depth = model.folder.resolve(), len(checkpoint.parts)
    if not checkpoint.is_absolute() and folder.parts[-depth:] == checkpoint.parts:
        return folder.parents[depth - 1] / names
    return folder.parent / names.name
