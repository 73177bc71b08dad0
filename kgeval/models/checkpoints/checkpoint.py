"""A checkpoint: a model that was read from files, with the labels of its ids and the origins of its options.

Readers make it, and users get it from ``load_checkpoint``. It is a scorer as any other; ``kgeval inspect`` shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.arrays import FloatArray
from kgeval.base.assumptions import Assumption
from kgeval.base.errors import CheckpointError, UsageError
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.alignment import hint_on_inverses
from kgeval.models.family import Family, release
from kgeval.models.mapped import Reciprocal, Typed
from kgeval.models.scorer import LabelledModel, Numbering


@dataclass(frozen=True, eq=False, repr=False)
class Checkpoint(LabelledModel):
    """A scorer that was read from files. It has its own ids, which ``evaluate`` matches with a dataset by label."""

    model: Family | Reciprocal | Typed
    format: str
    """the reader's name"""
    files: tuple[Path, ...]
    """every file that was read"""
    entities: Vocabulary | None = None
    relations: Vocabulary | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    """the source of the model's name and of each option"""
    name: str | None = None
    """the framework's name of the model, if it is not the name of its family"""
    numbering: Numbering = "unknown"
    """the meaning of its ids, if it has no labels"""
    layouts: tuple[str, ...] = ()
    """if ``numbering`` is ``files``: the dataset layouts whose files have the same ids"""
    lower_is_better: bool = False
    """whether the framework's own evaluator ranks the lowest score first"""
    missing_without_dataset: str = ""
    """what the files do not say and only the dataset does, if the model was read without one; else empty"""
    times: Vocabulary | None = None
    """the label of each time of a temporal model"""
    assumptions: tuple[Assumption, ...] = ()
    """how it was read where another reading is possible"""
    said_ids: str | None = None
    """the order of its ids, if the user says it"""

    def __post_init__(self) -> None:
        sizes = (self.num_entities, self.num_relations, self.num_times)
        for labels, size in zip((self.entities, self.relations, self.times), sizes, strict=True):
            if labels is not None and len(labels) != size:
                fault = f"the model has {size} {labels.kind} rows, but {len(labels)} {labels.kind} labels"
                hint = hint_on_inverses(labels.kind, size or 0, len(labels))
                raise CheckpointError(f"{self.files[0]}: {fault}.{hint}")

    def __repr__(self) -> str:
        model = self.describe().get("model") or self.format
        size = f"{self.num_entities} entities, {self.num_relations} relations"
        return f"{type(self).__name__}({model} from {self.files[0].name}: {size})"

    @property
    def family(self) -> Family:
        """The formula and its arrays, without what ``model`` wraps around them."""
        return self.model if isinstance(self.model, Family) else self.model.family

    @property
    def arrays(self) -> Mapping[str, FloatArray]:
        """The arrays of numbers that must be finite, by name."""
        return self.family.arrays

    @property
    def title(self) -> str:
        """Its name in results: the family, and its first file."""
        return f"{self.family.name} ({with_folder(self.files[0])})"

    def describe(self) -> dict[str, Any]:
        """Return what ``kgeval inspect`` shows."""
        family = self.family
        return {
            "format": self.format,
            "model": self.name or family.name,
            "family": family.name,
            "formula": family.formula,
            "options": family.options,
            "origins": dict(self.origins),
            "reciprocal": isinstance(getattr(self.model, "model", self.model), Reciprocal),
            "entities": self.num_entities,
            "relations": self.num_relations,
            **({"times": self.num_times} if self.num_times is not None else {}),
            **({"types": len(self.model.types.rows)} if isinstance(self.model, Typed) else {}),
            "arrays": {name: f"{array.dtype} {list(array.shape)}" for name, array in family.arrays.items()},
            **({"read as": [*map(str, self.assumptions)]} if self.assumptions else {}),
            "labels": {"entities": self.entities is not None, "relations": self.relations is not None},
            "files": [str(path) for path in self.files],
        }

    def with_ids(self, ids: str) -> Checkpoint:
        """Return the checkpoint with ids of the order that the option ``ids`` says."""
        if self.entities is not None and self.relations is not None:
            raise UsageError(f"{self.files[0]}: the model has labels, so its ids are known. Leave the option ids out.")
        numbering: Numbering = "dataset" if ids == "dataset" else "sorted"
        return replace(self, numbering=numbering, layouts=(), said_ids=ids)

    def refuse_nonfinite(self) -> None:
        """Refuse arrays that contain NaN or infinity."""
        for name, array in self.arrays.items():
            count, where = _nonfinite(array)
            if count:
                # If entities have types, the rows are in the order of the types, not of the labels.
                of_entities = None if isinstance(self.model, Typed) else self.entities
                labels = {"entity": of_entities, "relation": self.relations}.get(name)
                row, place = f"row {where[0]}", ", ".join(map(str, where[1:]))
                if labels is not None and where[0] < len(labels):
                    row += f" ({labels[where[0]]})"
                fault = f"the array {name!r} holds {array[where]} at {row}, column {place}"
                cure = "Fix it, or let kgeval evaluate rank such scores last: --nan worst (in Python nan='worst')."
                raise CheckpointError(f"{self.files[0]}: {fault}; {count} of its values are not finite. {cure}")


class ModelWithoutFormula(Checkpoint):
    """A scorer that was read from files and has no formula, such as prediction lists."""

    @property
    def family(self) -> Family:
        """Refuse: there is no formula, and there are no arrays."""
        raise CheckpointError(f"{self.files[0]}: it has no formula and no arrays, so it cannot be converted.")

    @property
    def arrays(self) -> Mapping[str, FloatArray]:
        return {}

    @property
    def title(self) -> str:
        return f"{self.name or self.format} ({with_folder(self.files[0])})"

    def describe(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "entities": self.num_entities,
            "relations": self.num_relations,
            "files": [str(path) for path in self.files],
            "origins": dict(self.origins),
        }


def with_folder(path: Path) -> str:
    """Return the name of a file with the name of its folder before it.

    >>> with_folder(Path("checkpoints/umls-complex/trained_model.pkl"))
    'umls-complex/trained_model.pkl'
    """
    return "/".join(path.absolute().parts[-2:])


BATCH_ROWS = 2**16
"""the number of rows of an array that are checked at a time"""


def _nonfinite(array: FloatArray) -> tuple[int, tuple[int, ...]]:
    """Count the values that are not finite, and find the first; in batches, since a mapped array may be large."""
    count = 0
    first: tuple[int, ...] = ()
    for start in range(0, len(array), BATCH_ROWS):
        wrong = ~np.isfinite(array[start : start + BATCH_ROWS])
        if wrong.any() and not count:
            row, *place = (int(index) for index in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
            first = (start + row, *place)
        count += int(np.count_nonzero(wrong))
        release(array)
    return count, first
