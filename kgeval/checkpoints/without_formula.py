"""Checkpoints without a formula over arrays: what is scored by lists or counts can be evaluated, not converted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgeval.arrays import FloatArray
from kgeval.checkpoints.checkpoint import Checkpoint, with_folder
from kgeval.errors import CheckpointError
from kgeval.scorers.family import Family


@dataclass(frozen=True, eq=False, repr=False)
class ModelWithoutFormula(Checkpoint):
    """A scorer that was read from files and is no model family."""

    @property
    def family(self) -> Family:
        """Refuse: there is no formula, and there are no arrays.

        Raises
        ------
        CheckpointError
            always
        """
        raise CheckpointError(f"{self.files[0]}: it is of no model family, so that it cannot be converted.")

    @property
    def arrays(self) -> Mapping[str, FloatArray]:
        """None: its reader has refused what is not finite."""
        return {}

    @property
    def title(self) -> str:
        """What results call it: what wrote it, and the file that was read first."""
        return f"{self.name or self.format} ({with_folder(self.files[0])})"

    def describe(self) -> dict[str, Any]:
        """Tell what it is: what ``kgeval inspect`` shows."""
        return {
            "format": self.format,
            "entities": self.num_entities,
            "relations": self.num_relations,
            "files": [str(path) for path in self.files],
        }
