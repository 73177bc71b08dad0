"""The model that a file of prediction lists makes; the readers of JSON, of AnyBURL and of TREC share it.

A reader takes the lines of its file apart. ``CheckedLists`` turns labels into ids of the dataset, or refuses them;
``model_of_lists`` makes the model. The user's options ``missing`` and ``unmatched`` are read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.errors import CheckpointError, UsageError, counted, first_few
from kgeval.data.triples import SIDES, Side
from kgeval.models.adapters.prediction_lists import INVENTED, Key, OneList, PredictionLists, SideLists
from kgeval.models.alignment import align
from kgeval.models.checkpoints.checkpoint import ModelWithoutFormula
from kgeval.models.checkpoints.options import Options
from kgeval.models.scorer import Numbering

NO_NAMES = "predictions do not name every entity"
"""why lists cannot be read without the dataset"""

KEEP_OR_DROP = " Text that names no entity keeps its place with unmatched=keep, and is left out with unmatched=drop."

UNMATCHED = ("error", "keep", "drop")
"""listed text that names no entity is refused; kept, as a wrong answer at its place; or left out. ``drop`` also leaves
out listed entities that are no candidates of the query"""

MISSING = ("error", "unanswered", "not-retrieved")
"""``error``: a query without a list is refused; ``unanswered``: it has an empty list; ``not-retrieved``: likewise, and
an answer that its list leaves out is 0 in metrics of lists, where it otherwise ties with all that is not listed"""


class CheckedLists:
    """The lists of a file, in the ids of the dataset: ``add`` takes each, and refuses wrong labels and scores."""

    def __init__(self, path: Path, options: Options) -> None:
        self.dataset = options.needed_dataset(path, NO_NAMES)
        self._path, self._options = path, options
        self._unmatched = options.require("unmatched", None, str(path), UNMATCHED, optional=True)
        self._invented = self._repeated = 0
        self.unread: set[str] = set()
        """keys of the file that its reader has no meaning for"""
        kinds = {"entity": self.dataset.entities, "relation": self.dataset.relations, "time": self.dataset.times}
        self._ids = {kind: {label: row for row, label in enumerate(labels or ())} for kind, labels in kinds.items()}
        self.found: dict[Side, dict[Key, OneList]] = {side: {} for side in SIDES}

    def id(self, where: str, kind: str, label: Any, hint: str = "") -> int:
        """Look up the id of an entity, a relation or a time; ``where`` is its place in the file, for the refusal."""
        ids = self._ids[kind]
        label = str(label) if kind == "time" and isinstance(label, int | float) else label
        if not isinstance(label, str):
            raise CheckpointError(f"{where}: expected the label of the query's {kind} in quotes, found {label!r:.40}.")
        if label in ids:
            return ids[label]
        named = (known for known, name in self.dataset.names.items() if name == label and known in ids)
        example = next(named, next(iter(ids), None))
        labels = "" if example is None else f" Lists need labels such as {example:.60}, not names."
        raise CheckpointError(f"{where}: unknown {kind} {label[:60]!r}. Is it the right dataset?{labels}{hint}")

    def add(self, where: str, side: Side, key: Key, pairs: Sequence[tuple[str, float]], what: str = "scores") -> None:
        """Take one list, of pairs of label and score; the first of a label counts."""
        scores: dict[str, float] = {}
        for label, score in pairs:
            if scores.setdefault(label, score) != score:
                raise CheckpointError(f"{where}: {label!r} is listed twice, with the {what} {scores[label]}, {score}.")
        self._repeated += len(pairs) - len(scores)
        entities = self._ids["entity"]
        unknown = [label for label in scores if label not in entities]
        if unknown and self._unmatched == "error":
            self.id(where, "entity", unknown[0], KEEP_OR_DROP)
        self._invented += len(unknown)
        for label in unknown if self._unmatched == "drop" else ():
            del scores[label]
        ids = [entities.get(label, INVENTED) for label in scores]
        self.found[side][key] = OneList(np.array(ids, np.int64), np.array([*scores.values()], np.float64))

    def predictions(self, format: str, *, by_place: bool = False) -> Predictions:
        """Make the model; ``by_place`` scores what is listed by its place alone."""
        sides = {side: SideLists.of(lists) for side, lists in self.found.items() if lists}
        made = model_of_lists(format, self._path, self._options, sides, self._notes())
        return replace(made, model=made.model.by_place()) if by_place else made

    def _notes(self) -> list[str]:
        """Say how many predictions named no entity, and how many named one again."""
        notes = []
        if self._invented:
            kept = {"keep": "kept its place as a wrong answer", "drop": "was left out, and later ones moved up"}
            fault = f"{counted(self._invented, 'prediction')} named no entity"
            notes.append(f"{fault}; each {kept[self._unmatched]} (unmatched={self._unmatched}).")
        if self._repeated:
            fault = f"{counted(self._repeated, 'prediction')} repeated an earlier one of the same list"
            notes.append(f"{fault}: the first counts, and later ones move up.")
        if self.unread:
            notes.append(f"keys of the lists that kgeval does not read: {first_few(sorted(self.unread))}.")
        return notes


def model_of_lists(
    format: str, path: Path, options: Options, sides: Mapping[Side, SideLists], notes: Sequence[str] = ()
) -> Predictions:
    """Make a model of the lists of a file, by the options ``missing`` and ``unmatched``."""
    dataset = options.needed_dataset(path, NO_NAMES)
    missing = options.require("missing", None, str(path), MISSING, optional=True)
    unmatched = options.require("unmatched", None, str(path), UNMATCHED, optional=True)
    lists = PredictionLists(
        sides,
        dataset.entities,
        dataset.relations,
        unanswered=missing != "error",
        not_retrieved=missing == "not-retrieved",
        keeps_outside=unmatched != "drop",
        notes=tuple(notes),
    )
    base, files = options.resolve("base", None, ""), (path,)
    if base is not None:
        from kgeval.models.checkpoints import as_model

        if lists.not_retrieved:
            raise UsageError(f"{path}: missing=not-retrieved: a base ranks what the lists leave out. Leave it out.")
        base = as_model(base, dataset)
        lists, files = lists.over(align(base, dataset)), (path, *getattr(base, "files", ()))
    return Predictions(lists, format, files, dataset.entities, dataset.relations, options.origins)


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(ModelWithoutFormula):
    """A scorer that was read from a file of predictions. It speaks the ids of its dataset."""

    model: PredictionLists  # type: ignore[assignment]
    numbering: Numbering = "dataset"

    @property
    def title(self) -> str:
        base = self.model.base
        return super().title if base is None else f"{super().title} over {base.title}"

    def describe(self) -> dict[str, Any]:
        return {
            **super().describe(),
            "queries": {side: len({key[:2] for key in lists.places}) for side, lists in self.model.sides.items()},
            "listed": {side: int((lists.rows.ids >= 0).sum()) for side, lists in self.model.sides.items()},
        }
