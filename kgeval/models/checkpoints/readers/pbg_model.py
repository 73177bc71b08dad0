"""The configuration of a PyTorch-BigGraph checkpoint: its types, operators, files and labels."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgeval.base.errors import CheckpointError
from kgeval.base.files import is_plain_name, read_json, read_settings
from kgeval.models.checkpoints.options import truth_value
from kgeval.models.checkpoints.shared.layers import readable
from kgeval.models.checkpoints.shared.locate import json_in

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
    folder: Path
    config: dict[str, Any]
    version: int

    @property
    def dynamic(self) -> bool:
        """Whether relations are rows of one operator."""
        return self.truth_value("dynamic_relations")

    def truth_value(self, name: str) -> bool:
        return truth_value(self.folder / CONFIG, name, self.config.get(name))

    @property
    def relations(self) -> list[dict[str, Any]]:
        """The settings of each relation; of dynamic ones, those of all together."""
        return list(self.config["relations"])

    @property
    def operators(self) -> list[str]:
        return list(dict.fromkeys(str(relation["operator"]) for relation in self.relations))

    @property
    def operator(self) -> str | tuple[str, ...]:
        """The kind of all operators, or of each relation's where they differ."""
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


def read_model(folder: Path) -> PBGModel:
    where = folder / CONFIG
    with readable(where, "configuration of PyTorch-BigGraph"):
        config = read_json(where)
        model = PBGModel(folder, config, int(read_settings(folder / VERSION)))
        known = set(model.operators) <= PARAMETERS.keys() and "comparator" in config
        known = known and (len(model.relations) == 1 if model.dynamic else bool(relation_names(model, None)))
        parts = [model.parts(kind) for kind in model.types]
        featurized = [kind for kind in model.types if config["entities"][kind].get("featurized")]
    if not known:
        raise CheckpointError(
            f"{where}: kgeval reads models with a comparator and the operators {', '.join(PARAMETERS)} (one operator "
            f"if relations are dynamic); found {', '.join(model.operators)!r:.200}."
        )
    if featurized:
        what = f"entities of type {featurized[0]!r:.60} are sets of features (featurized)"
        raise CheckpointError(f"{where}: {what}, which kgeval does not read.")
    if foreign := [kind for kind in model.types if not is_plain_name(kind)]:
        raise CheckpointError(f"{where}: the entity type {foreign[0]!r:.60} cannot be part of a file name.")
    max_norm = config.get("max_norm")
    is_number = isinstance(max_norm, int | float) and not isinstance(max_norm, bool)
    is_norm = max_norm is None or (is_number and 0 < max_norm <= sys.float_info.max)
    if not is_norm or min(parts) < 1 or max(parts) > sum(1 for _ in folder.iterdir()):
        raise CheckpointError(
            f"{where}: expected a positive max_norm and a file for each partition; found max_norm {max_norm!r:.60} "
            f"and {max(parts)} partitions."
        )
    return model


def relation_names(model: PBGModel, folder: Path | None) -> list[str]:
    """Return the names of the relations, those of dynamic relations from a folder, by default the ``entity_path``."""
    if model.dynamic:
        return read_names((folder or entity_path(model)) / "dynamic_rel_names.json")
    return [str(relation["name"]) for relation in model.relations]


def read_names(file: Path) -> list[str]:
    names = json_in(file)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CheckpointError(f"{file}: expected a list of names.")
    return names


def entity_path(model: PBGModel) -> Path:
    """Return the folder of the names, relative to the folder that ``checkpoint_path`` is relative to."""
    names, checkpoint = (Path(str(model.config.get(key))) for key in ("entity_path", "checkpoint_path"))
    if names.is_absolute() or ".." in names.parts:
        raise CheckpointError(
            f"{model.folder / CONFIG}: its entity_path {str(names)!r:.200} leads to another place. Give the folder of "
            "the names with the option labels=FOLDER."
        )
    folder, depth = model.folder.resolve(), len(checkpoint.parts)
    if not checkpoint.is_absolute() and folder.parts[-depth:] == checkpoint.parts:
        return folder.parents[depth - 1] / names
    return folder.parent / names.name
