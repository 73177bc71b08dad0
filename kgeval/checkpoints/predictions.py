"""Predictions: the lists that a model without parameters (rules) gave for the queries of a split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.errors import CheckpointError
from kgeval.graph.dataset import Dataset
from kgeval.scorers.family import Family
from kgeval.scorers.listed import ListedScores


@dataclass(frozen=True, eq=False)
class Predictions(Checkpoint):
    """A scorer that was read from a file of predictions. It speaks the ids of its dataset."""

    model: ListedScores  # type: ignore[assignment]

    @property
    def family(self) -> Family:
        """Refuse: there is no formula, and there are no arrays.

        Raises
        ------
        CheckpointError
            always
        """
        raise CheckpointError(f"{self.files[0]}: predictions are no model: they cannot be converted.")

    def describe(self) -> dict[str, Any]:
        """Tell what it is: what ``kgeval inspect`` shows."""
        return {
            "format": self.format,
            "queries": {side: len(lists.places) for side, lists in self.model.sides.items()},
            "listed": {side: len(lists.scores) for side, lists in self.model.sides.items()},
            "entities": self.num_entities,
            "relations": self.num_relations,
            "files": [str(path) for path in self.files],
        }

    def labelled(self, dataset: Dataset) -> Predictions:
        """Return itself: it has the labels of its dataset."""
        return self

    def refuse_nonfinite(self) -> None:
        """Do nothing: what is no number was refused with its line."""
