"""Predictions: the lists that a model without parameters (rules) gave for the triples of a split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from kgeval.checkpoints.without_formula import ModelWithoutFormula
from kgeval.data.dataset import Dataset
from kgeval.data.triples import Side
from kgeval.scorers.adapters.prediction_lists import Key, OneList, PredictionLists
from kgeval.scorers.scorer import Numbering


class ListedOnce(NamedTuple):
    """One list of a file."""

    side: Side
    key: Key
    listed: OneList


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(ModelWithoutFormula):
    """A scorer that was read from a file of predictions. It speaks the ids of its dataset."""

    model: PredictionLists  # type: ignore[assignment]
    numbering: Numbering = "dataset"

    def describe(self) -> dict[str, Any]:
        """Tell what it is: what ``kgeval inspect`` shows."""
        return {
            **super().describe(),
            "origins": dict(self.origins),
            "queries": {side: len({key[:2] for key in lists.places}) for side, lists in self.model.sides.items()},
            "listed": {side: len(lists.scores) for side, lists in self.model.sides.items()},
        }

    def labelled(self, dataset: Dataset) -> Predictions:
        """Return itself: it has the labels of its dataset."""
        return self
