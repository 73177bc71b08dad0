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
from pathlib import Path
from typing import Any

from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.readers.prediction_file import CheckedLists, Predictions
from kgeval.data.text import open_text
from kgeval.data.triples import SIDES
from kgeval.errors import CheckpointError, DatasetError, reason
from kgeval.files.opening import JSON, checked
from kgeval.scorers.adapters.prediction_lists import ALL_LISTS

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
    try:
        checked(path, times=JSON)
        with open_text(path) as text:
            number = 0
            while line := text.readline(LONGEST):
                number += 1
                if line.strip():
                    where = f"{path}, line {number}"
                    _add(where, _object(where, line), lists)
    except DatasetError as error:
        raise CheckpointError(str(error)) from error
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
)
