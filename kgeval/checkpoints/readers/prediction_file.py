"""Predictions: the lists that a model without parameters (rules) gave for the triples of a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.checkpoints.checkpoint import ModelWithoutFormula
from kgeval.checkpoints.options import Options
from kgeval.data.dataset import Dataset
from kgeval.data.triples import SIDES, Side
from kgeval.errors import CheckpointError, UsageError
from kgeval.scorers.adapters.prediction_lists import INVENTED, Key, OneList, PredictionLists, SideLists
from kgeval.scorers.scorer import Numbering


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


class CheckedLists:
    """The lists of a file: a reader takes the lines apart, and this refuses what is wrong with their labels."""

    def __init__(self, path: Path, options: Options, unknown: str = "error", hint: str = "") -> None:
        """``unknown`` says what becomes of labels that name no entity; ``hint`` is the end of their refusal."""
        self.dataset = needed_dataset(path, options)
        self._path, self._options, self._unknown, self._hint = path, options, unknown, hint
        self._invented = self._repeated = 0
        self._ids = {
            kind: {label: index for index, label in enumerate(labels or ())}
            for kind, labels in (
                ("entity", self.dataset.entities),
                ("relation", self.dataset.relations),
                ("time", self.dataset.times),
            )
        }
        self.found: dict[Side, dict[Key, OneList]] = {side: {} for side in SIDES}

    def id(self, where: str, kind: str, label: Any, hint: str = "") -> int:
        found = self._ids[kind].get(label) if isinstance(label, str) else None
        if found is not None:
            return found
        if kind == "time":
            raise CheckpointError(f"{where}: the dataset has no time {label!r:.40}. Is it the right dataset?")
        if not isinstance(label, str):
            raise CheckpointError(f"{where}: expected the label of the query's {kind}, found {label!r:.40}.")
        raise CheckpointError(f"{where}: unknown {kind} {label[:60]!r}. Is it the right dataset?{hint}")

    def add(self, where: str, side: Side, key: Key, pairs: Sequence[tuple[str, float]], what: str = "scores") -> None:
        """Take one list, of pairs of label and score; the first of a label counts."""
        scores: dict[str, float] = {}
        for label, score in pairs:
            if scores.setdefault(label, score) != score:
                raise CheckpointError(f"{where}: {label!r} is listed twice, with the {what} {scores[label]}, {score}.")
        self._repeated += len(pairs) - len(scores)
        entities = self._ids["entity"]
        unknown = [label for label in scores if label not in entities]
        if unknown and self._unknown == "error":
            self.id(where, "entity", unknown[0], self._hint)
        self._invented += len(unknown)
        for label in unknown if self._unknown == "drop" else ():
            del scores[label]
        ids = [entities.get(label, INVENTED) for label in scores]
        self.found[side][key] = OneList(np.array(ids, np.int64), np.array([*scores.values()], np.float64))

    def predictions(self, format: str, *, by_place: bool = False) -> Predictions:
        """Make the model; ``by_place`` scores what is listed by its place alone."""
        sides = {side: SideLists.of(lists) for side, lists in self.found.items() if lists}
        if by_place:
            sides = {side: lists.by_place() for side, lists in sides.items()}
        return predictions_of(format, self._path, self._options, sides, self._notes())

    def _notes(self) -> list[str]:
        """Say how many predictions named no entity, and how many named one again."""
        names, repeats = (
            f"1 prediction {verb}s" if count == 1 else f"{count:,} predictions {verb}"
            for count, verb in ((self._invented, "name"), (self._repeated, "repeat"))
        )
        keep = (
            "kept its place as a wrong answer" if self._unknown == "keep" else "was left out, and later ones moved up"
        )
        invented = f"{names} no entity; each {keep} (unknown={self._unknown})."
        repeated = f"{repeats} an earlier one of the same list: the first counts, and later ones move up."
        return [invented] * bool(self._invented) + [repeated] * bool(self._repeated)


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
