"""Predictions: the lists that a model without parameters (rules) gave for the triples of a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from kgeval.checkpoints.checkpoint import ModelWithoutFormula
from kgeval.checkpoints.options import Options
from kgeval.data.dataset import Dataset
from kgeval.data.triples import Side
from kgeval.errors import CheckpointError, UsageError
from kgeval.scorers.adapters.prediction_lists import Key, OneList, PredictionLists, SideLists
from kgeval.scorers.scorer import Numbering


class ListedOnce(NamedTuple):
    side: Side
    key: Key
    listed: OneList


def needed_dataset(path: Path, options: Options, why: str = "predictions do not name every entity") -> Dataset:
    if options.dataset is None:
        raise CheckpointError(f"{path}: {why}. Give the dataset that they are about.")
    return options.dataset


def predictions_of(
    format: str, path: Path, options: Options, sides: Mapping[Side, SideLists], notes: Sequence[str] = ()
) -> Predictions:
    """Make a model of the lists of a file; the option ``missing`` says what a query without a list is."""
    dataset, missing = needed_dataset(path, options), options.resolve("missing", None, "") or "error"
    if missing not in ("error", "unanswered"):
        raise UsageError(f"{path}: missing={missing!r}: expected error or unanswered.")
    lists = PredictionLists(sides, dataset.entities, dataset.relations, missing == "unanswered", tuple(notes))
    return Predictions(lists, format, (path,), dataset.entities, dataset.relations, options.origins)


def note_on_repeats(count: int) -> list[str]:
    what = "1 prediction repeats" if count == 1 else f"{count:,} predictions repeat"
    return [f"{what} an earlier one of the same list: the first counts, and later ones move up."] if count else []


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(ModelWithoutFormula):
    """A scorer that was read from a file of predictions. It speaks the ids of its dataset."""

    model: PredictionLists  # type: ignore[assignment]
    numbering: Numbering = "dataset"

    def describe(self) -> dict[str, Any]:
        return {
            **super().describe(),
            "origins": dict(self.origins),
            "queries": {side: len({key[:2] for key in lists.places}) for side, lists in self.model.sides.items()},
            "listed": {side: int((lists.rows.ids >= 0).sum()) for side, lists in self.model.sides.items()},
        }

    def labelled(self, dataset: Dataset) -> Predictions:
        return self
