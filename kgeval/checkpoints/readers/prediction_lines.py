"""Lists of predictions as JSON lines, as language models and rankers of candidates are made to write them.

One object a line: {"head": …, "relation": …, "predictions": […]} for a tail, {"tail": …, "relation": …, …} for a head.
A line with head and tail is the list of that triple alone, for the side that "side" names, by default the tail.
In a temporal graph, a line with "time" is a list for that time alone.
Predictions are labels, best first; pairs of label and score; or an object of the score of each label. An empty list is
no answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.readers.prediction_file import (
    ListedOnce,
    Predictions,
    needed_dataset,
    note_on_repeats,
    predictions_of,
)
from kgeval.data.dataset import Dataset
from kgeval.data.io.text import open_text
from kgeval.data.triples import SIDES, Side
from kgeval.errors import CheckpointError, DatasetError, reason
from kgeval.files.opening import JSON, checked
from kgeval.scorers.adapters.prediction_lists import ALL_LISTS, INVENTED, Key, OneList, SideLists

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
    """Read lists of predictions.

    Predictions that name no entity, as text that a model made up, are refused; with the option ``unknown=keep`` they
    keep their places as wrong answers, with ``unknown=drop`` they are left out, and later ones move up.
    """
    unknown = options.resolve("unknown", None, "") or "error"
    if unknown not in UNKNOWN:
        raise CheckpointError(f"{path}: unknown={unknown!r}: expected {', '.join(UNKNOWN[:-1])} or {UNKNOWN[-1]}.")
    lines = _Lines(path, needed_dataset(path, options), unknown)
    found: dict[Side, dict[Key, OneList]] = {side: {} for side in SIDES}
    try:
        for where, (side, key, listed) in lines.lists():
            if found[side].setdefault(key, listed) is not listed:
                raise CheckpointError(f"{where}: a second list for the same query.")
    except DatasetError as error:
        raise CheckpointError(str(error)) from error
    sides = {side: SideLists.of(lists) for side, lists in found.items() if lists}
    return predictions_of("predictions", path, options, sides, lines.notes())


class _Lines:
    def __init__(self, path: Path, dataset: Dataset, unknown: str) -> None:
        self._path, self._unknown = path, unknown
        self._invented = self._repeated = 0
        self._entities = {label: index for index, label in enumerate(dataset.entities)}
        self._relations = {label: index for index, label in enumerate(dataset.relations)}
        self._times = {label: index for index, label in enumerate(dataset.times or ())}

    def lists(self) -> Iterator[tuple[str, ListedOnce]]:
        checked(self._path, times=JSON)
        with open_text(self._path) as text:
            number = 0
            while line := text.readline(LONGEST):
                number += 1
                if line.strip():
                    where = f"{self._path}, line {number}"
                    yield where, self._listed(where, _object(where, line))

    def notes(self) -> list[str]:
        """Say how many predictions named no entity, and how many named one again, in the lists so far."""
        what = "1 prediction names" if self._invented == 1 else f"{self._invented:,} predictions name"
        keep = (
            "kept its place as a wrong answer" if self._unknown == "keep" else "was left out, and later ones moved up"
        )
        invented = [f"{what} no entity; each {keep} (unknown={self._unknown})."] if self._invented else []
        return [*invented, *note_on_repeats(self._repeated)]

    def _listed(self, where: str, content: dict[str, Any]) -> ListedOnce:
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
            self._id(where, "entity", content.get(anchor)),
            self._id(where, "relation", content.get("relation")),
            self._id(where, "entity", content[answer]) if answer in content else ALL_LISTS,
            *([self._time(where, content["time"])] if "time" in content else []),
        )
        return ListedOnce(side, key, self._list(where, content["predictions"]))

    def _time(self, where: str, label: Any) -> int:
        if not isinstance(label, str) or label not in self._times:
            raise CheckpointError(f"{where}: the dataset has no time {label!r:.40}. Is it the right dataset?")
        return self._times[label]

    def _list(self, where: str, predictions: Any) -> OneList:
        """Take the entity and the score of each prediction, or leave out those that name none."""
        scores = self._scores(where, predictions)
        self._repeated += len(predictions) - len(scores)
        unknown = [label for label in scores if label not in self._entities]
        if unknown and self._unknown == "error":
            self._id(where, "entity", unknown[0], KEEP_OR_DROP)
        self._invented += len(unknown)
        if self._unknown == "drop":
            scores = {label: score for label, score in scores.items() if label in self._entities}
        ids = [self._entities.get(label, INVENTED) for label in scores]
        return OneList(np.array(ids, np.int64), np.array([*scores.values()], np.float64))

    def _scores(self, where: str, predictions: Any) -> dict[str, float]:
        """Take the score of each prediction; of labels alone, one less for each place, of which the first counts."""
        pairs = list(predictions.items()) if isinstance(predictions, dict) else predictions
        if not isinstance(pairs, list):
            raise CheckpointError(f"{where}: expected a list or an object as predictions, found {predictions!r:.40}.")
        if all(isinstance(label, str) for label in pairs):
            pairs = [(label, float(-place)) for place, label in enumerate(dict.fromkeys(pairs), 1)]
        scores: dict[str, float] = {}
        for pair in pairs:
            label, score = pair if isinstance(pair, list | tuple) and len(pair) == 2 else (None, None)
            number = _number(score)
            if not isinstance(label, str) or not math.isfinite(number):
                raise CheckpointError(f"{where}: expected labels, or pairs of label and score; found {pair!r:.60}.")
            if scores.setdefault(label, number) != number:
                raise CheckpointError(f"{where}: {label!r} is listed twice, with the scores {scores[label]}, {number}.")
        return scores

    def _id(self, where: str, kind: str, label: Any, hint: str = "") -> int:
        known = self._entities if kind == "entity" else self._relations
        if not isinstance(label, str):
            raise CheckpointError(f"{where}: expected the label of the query's {kind}, found {label!r:.40}.")
        if label not in known:
            raise CheckpointError(f"{where}: unknown {kind} {label[:60]!r}. Is it the right dataset?{hint}")
        return known[label]


def _number(score: Any) -> float:
    """Take a score as a float; NaN where it is none, or is beyond the largest."""
    try:
        return math.nan if isinstance(score, bool) or not isinstance(score, int | float) else float(score)
    except OverflowError:
        return math.nan


def _object(where: str, line: str) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{where}: no JSON ({reason(error)}).") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{where}: expected an object with relation and predictions, found {line.strip()[:40]}.")
    return content


def _recognises(path: Path) -> bool:
    return isinstance(content := _first(path), dict) and content.keys() >= KEYS


def _lacks(path: Path) -> str:
    content = _first(path)
    if content is None:
        return ""
    found = f"the keys {', '.join(map(repr, content))}" if isinstance(content, dict) else f"{content!r:.40}"
    return (
        f"Its first line has {found}. A list of predictions has 'relation', 'predictions', and the label of 'head' or "
        "'tail', whichever is asked about."
    )


def _first(path: Path) -> Any:
    """Read the first line of a file of JSON lines; None where it is none."""
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
    recognises=_recognises,
    read=read,
    lacks=_lacks,
)
