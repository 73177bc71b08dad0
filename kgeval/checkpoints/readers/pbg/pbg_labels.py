"""The labels of a PyTorch-BigGraph checkpoint: those of each type's entities, in the order of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kgeval.checkpoints.readers.pbg.pbg_model import PBGModel, entity_path, read_names, relation_names
from kgeval.data.triples import Side
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import CheckpointError
from kgeval.paths import exists_safely
from kgeval.scorers.wrappers.entity_types import EntityTypes


@dataclass(frozen=True)
class PBGLabels:
    """The labels of entities and relations, where there are any."""

    types: tuple[Vocabulary, ...]
    """those of each type; none where the files of names are elsewhere"""
    relations: Vocabulary | None
    files: tuple[Path, ...] = ()

    @property
    def entities(self) -> Vocabulary | None:
        """The labels of all types, each once."""
        if len(self.types) < 2:
            return self.types[0] if self.types else None
        return Vocabulary(dict.fromkeys(label for labels in self.types for label in labels))

    def entity_types(self, model: PBGModel, sizes: list[int], num_relations: int) -> EntityTypes:
        """Tell the rows of entities of each type, which lie one type after the other, and the types of relations.

        Without labels, every row is an entity of its own.

        Raises
        ------
        CheckpointError
            if a type has more or fewer labels than rows
        """
        entities, starts = self.entities, np.cumsum([0, *sizes])
        rows = np.full((len(sizes), starts[-1] if entities is None else len(entities)), -1)
        for place, (kind, size) in enumerate(zip(model.types, sizes, strict=True)):
            own = np.arange(starts[place], starts[place + 1])
            if entities is not None and len(self.types[place]) != size:
                found = f"{size} rows, but {len(self.types[place])} labels"
                raise CheckpointError(f"{model.folder}: the entities of type {kind!r} have {found}.")
            rows[place, own if entities is None else entities.ids(self.types[place].labels)] = own
        sides: tuple[tuple[Side, str], ...] = (("head", "lhs"), ("tail", "rhs"))
        taken = {side: [model.types.index(str(one[key])) for one in model.relations] for side, key in sides}
        # All dynamic relations take the same types.
        return EntityTypes(rows, {side: np.resize(types, num_relations) for side, types in taken.items()})


def labels_of(model: PBGModel, folder: str | None) -> PBGLabels:
    """Read the labels in a folder, by default the ``entity_path`` of the configuration.

    Raises
    ------
    CheckpointError
        if they are not in the folder, or damaged
    """
    place = entity_path(model) if folder is None else Path(folder)
    files = [[place / f"entity_names_{kind}_{part}.json" for part in range(model.parts(kind))] for kind in model.types]
    every = [file for of_kind in files for file in of_kind]
    if not all(exists_safely(file) and file.is_file() for file in every):
        if folder is not None:
            raise CheckpointError(
                f"labels={folder!r} is no folder with {', '.join(file.name for file in every)} in it."
            )
        names = [] if model.dynamic else relation_names(model, None)
        return PBGLabels((), Vocabulary(names, "relation") if names else None)
    types = [[label for file in of_kind for label in read_names(file)] for of_kind in files]
    names = relation_names(model, place)
    return PBGLabels(
        tuple(Vocabulary(labels) for labels in types) if all(types) else (),
        Vocabulary(names, "relation") if names else None,
        (*every, *([place / "dynamic_rel_names.json"] if model.dynamic else [])),
    )
