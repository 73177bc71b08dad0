"""Lists of predictions: as JSON lines, and what every format of lists needs, that its labels are checked.

Lists are what models without parameters gave for the triples of a split: rules, language models, rankers of candidates.
As JSON lines, each line is one object: {"head": …, "relation": …, "predictions": […]} for a tail,
{"tail": …, "relation": …, …} for a head. A line with head and tail is the list of that triple alone, for the side that
"side" names, by default the tail. In a temporal graph, a line with "time" is a list for that time alone.

Predictions are labels, best first; pairs of label and score; or an object of the score of each label. An empty list is
no answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.checkpoints.checkpoint import ModelWithoutFormula
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.data.dataset import Dataset
from kgeval.data.text import open_text
from kgeval.data.triples import SIDES, Side
from kgeval.errors import CheckpointError, DatasetError, UsageError, reason
from kgeval.files.opening import JSON, checked
from kgeval.scorers.adapters.prediction_lists import ALL_LISTS, INVENTED, Key, OneList, PredictionLists, SideLists
from kgeval.scorers.scorer import Numbering


def needed_dataset(path: Path, options: Options, why: str = "predictions do not name every entity") -> Dataset:
    if options.dataset is None:
        raise CheckpointError(f"{path}: {why}. Give the dataset: --dataset DATASET (in Python dataset=…).")
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


SUFFIXES = {".jsonl", ".ndjson"}

KEYS = {"relation", "predictions"}
"""what every line has, beside the head or the tail"""

UNKNOWN = ("error", "keep", "drop")
"""what becomes of predictions that name no entity"""

KEEP_OR_DROP = (
    " Text that names no entity keeps its place as a wrong answer with the option unknown=keep; with unknown=drop it "
    "is left out."
)

LONGEST = 2**26
"""characters that a line may have"""


def read(path: Path, options: Options) -> Predictions:
    """Read the predictions of a query from each line, best first or with scores.

    Predictions that name no entity, as text that a model made up, are refused; with the option ``unknown=keep`` they
    keep their places as wrong answers, with ``unknown=drop`` they are left out, and later ones move up.
    """
    unknown = options.resolve("unknown", None, "") or "error"
    if unknown not in UNKNOWN:
        raise CheckpointError(f"{path}: unknown={unknown!r}: expected {', '.join(UNKNOWN[:-1])} or {UNKNOWN[-1]}.")
    lists = CheckedLists(path, options, str(unknown), KEEP_OR_DROP)
    checked(path, times=JSON)
    with open_text(path) as text:
        for number, line in enumerate(iter(lambda: text.readline(LONGEST), ""), 1):
            if line.strip():
                where = f"{path}, line {number}"
                _add(where, _object(where, line), lists)
    return lists.predictions("predictions")


def _add(where: str, content: dict[str, Any], lists: CheckedLists) -> None:
    if not content.keys() >= KEYS or not {*SIDES} & content.keys():
        found = ", ".join(map(repr, content)) or "none"
        raise CheckpointError(
            f"{where}: expected the keys head (or tail), relation and predictions; found {found:.80}."
        )
    side = content.get("side", "tail" if "head" in content else "head")
    if side not in SIDES:
        raise CheckpointError(f"{where}: side {side!r}; expected head or tail.")
    anchor, answer = ("head", "tail") if side == "tail" else ("tail", "head")
    key = (
        lists.id(where, "entity", content.get(anchor)),
        lists.id(where, "relation", content.get("relation")),
        lists.id(where, "entity", content[answer]) if answer in content else ALL_LISTS,
        *([lists.id(where, "time", content["time"])] if "time" in content else []),
    )
    again = key in lists.found[side]
    lists.add(where, side, key, _pairs(where, content["predictions"]))
    if again:
        raise CheckpointError(f"{where}: a second list for the same query.")


def _pairs(where: str, predictions: Any) -> list[tuple[str, float]]:
    """Take the label and the score of each prediction; of labels alone, the score is one less for each place."""
    pairs = list(predictions.items()) if isinstance(predictions, dict) else predictions
    if not isinstance(pairs, list):
        raise CheckpointError(f"{where}: expected a list or an object as predictions, found {predictions!r:.40}.")
    if all(isinstance(label, str) for label in pairs):
        places = {label: float(-place) for place, label in enumerate(dict.fromkeys(pairs), 1)}
        return [(label, places[label]) for label in pairs]
    return [_pair(where, pair) for pair in pairs]


def _pair(where: str, pair: Any) -> tuple[str, float]:
    label, score = pair if isinstance(pair, list | tuple) and len(pair) == 2 else (None, None)
    number = _number(score)
    if not isinstance(label, str) or not math.isfinite(number):
        raise CheckpointError(f"{where}: expected labels, or pairs of label and score; found {pair!r:.60}.")
    return label, number


def _number(score: Any) -> float:
    """Return a score as a float; NaN if it is not a number or too large."""
    try:
        return math.nan if isinstance(score, bool) or not isinstance(score, int | float) else float(score)
    except OverflowError:
        return math.nan


def _object(where: str, line: str) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{where}: not JSON ({reason(error)}).") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{where}: expected an object with relation and predictions, found {line.strip()[:40]}.")
    return content


def _first(path: Path) -> Any:
    """Read the first line of a file of JSON lines; ``None`` if it is not JSON."""
    if not path.is_file() or path.suffix.lower() not in SUFFIXES:
        return None
    try:
        with open_text(path) as text:
            return json.loads(text.readline(LONGEST))
    except (DatasetError, ValueError, RecursionError):
        return None


READER = Reader(
    name="predictions",
    summary="a .jsonl file of lists (head or tail, relation, predictions: labels, with scores or best first)",
    recognises=lambda path: isinstance(content := _first(path), dict) and content.keys() >= KEYS,
    read=read,
)
