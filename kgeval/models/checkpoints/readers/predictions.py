"""Prediction lists as JSON: what rules, language models or rankers of candidates answer to the queries of a split.

A model without parameters has no other form than such lists. ``load_checkpoint`` calls the reader: a path and the
user's options become ``Predictions``, a scorer of lists.

The format
----------
Each line is one object: {"head": …, "relation": …, "predictions": […]} for a tail,
{"tail": …, "relation": …, …} for a head. A line with head and tail is the list of that triple alone, for the side that
"side" names, by default the tail. In a temporal graph, a line with "time" or "timestamp" is a list for that time alone.

Predictions are labels, best first, perhaps with a list of "scores" beside it; pairs of label and score; or an object of
the score of each label. An empty list is no answer. A JSON array of such objects is read too, and so are the files of
SimKGC.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from kgeval.base.errors import CheckpointError, reason
from kgeval.base.files import JSON, checked
from kgeval.data.dataset import Dataset
from kgeval.data.text import open_text
from kgeval.data.triples import SIDES
from kgeval.models.checkpoints.locate import LONGEST, first_object
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.checkpoints.readers.prediction_model import CheckedLists, Predictions, files_in

LISTED, SCORES = "predictions", "scores"

SIMKGC = "topk_score_info"
"""the key of a list in SimKGC's files; its value is text, an object of names and rounded scores, best first"""

INVERSE = "inverse "
"""the beginning of the relation in SimKGC's lists of heads; the head of such a list is the tail of the triple"""

TIMES = ("time", "timestamp")

KEYS = {*SIDES, "relation", LISTED, SCORES, "names", "side", *TIMES}
"""the keys of an object that are read; a note names all other keys, except in objects of SimKGC"""


def read(path: Path, options: Options) -> Predictions:
    """Read the predictions of a query from each line or object of an array, best first or with scores.

    Predictions that name no entity, as text that a model made up, are refused; with the option ``unmatched=keep`` they
    keep their places as wrong answers, with ``unmatched=drop`` they are left out, and later ones move up.
    """
    lists = CheckedLists(path, options)
    for file in files_in(path):
        for where, content in objects_in(file):
            add_list(where, content, lists)
    return lists.predictions("predictions")


def has_list(content: Any) -> bool:
    """Whether an object is a list of predictions, as kgeval or SimKGC names its keys."""
    return isinstance(content, dict) and "relation" in content and not {LISTED, SIMKGC}.isdisjoint(content)


READER = Reader(
    name="predictions",
    summary="a .jsonl or .json file of lists (head or tail, relation, predictions: labels, with scores or best first)",
    recognises=lambda path: any(has_list(first_object(file)) for file in files_in(path)),
    read=read,
)


def objects_in(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the content of each line, or each element of an array; before it, its place in the file for messages."""
    checked(path, times=JSON)
    with open_text(path) as text:
        for number, line in enumerate(iter(lambda: text.readline(LONGEST), ""), 1):
            where = f"{path}, line {number}"
            if line.lstrip().startswith("["):
                for place, content in enumerate(_parsed(where, line + text.read()), 1):
                    yield f"{path}, object {place}", content
            elif line.strip():
                yield where, _parsed(where, line)


def _parsed(where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{where}: not JSON ({reason(error)}).") from error


def add_list(where: str, content: Any, lists: CheckedLists) -> None:
    """Add the list of one object to ``lists``; ``where`` is the place of the object in the file, for refusals."""
    if not has_list(content) or not {*SIDES} & content.keys():
        shown = (", ".join(map(repr, content)) or "none") if isinstance(content, dict) else repr(content)
        raise CheckpointError(f"{where}: expected keys head (or tail), relation and predictions; found {shown:.80}.")
    content = tail_first(content, lists.dataset)
    predictions = content.get(LISTED)
    if LISTED in content:
        lists.unread |= content.keys() - KEYS
    else:
        best = content[SIMKGC]
        predictions = [*_parsed(where, best)] if isinstance(best, str) else best
    side = lists.side or content.get("side", "tail" if "head" in content else "head")
    lists.is_unsaid |= not lists.side and {"head", "tail"} <= content.keys() and {"side", SIMKGC}.isdisjoint(content)
    if side not in SIDES:
        raise CheckpointError(f"{where}: side {side!r}; expected head or tail.")
    times = {lists.id(where, "time", content[name]) for name in TIMES if name in content}
    if len(times) > 1:
        raise CheckpointError(f"{where}: {' and '.join(TIMES)} are different. Leave one of them out.")
    anchor, answer = ("head", "tail") if side == "tail" else ("tail", "head")
    of_answer = [content[answer]] if answer in content else []
    key = (*lists.query(where, side, content.get(anchor), content["relation"], *of_answer), *times)
    if key in lists.found[side]:
        raise CheckpointError(f"{where}: a second list for the same query. Keep one, or give both head and tail.")
    lists.add(where, side, key, _pairs(where, predictions, content.get(SCORES)))


def tail_first(content: dict[str, Any], dataset: Dataset) -> dict[str, Any]:
    """Turn an object that SimKGC writes for a head (its relation is ``inverse …``) into the triple and its side."""
    relation = str(content.get("relation"))
    if SIMKGC not in content or not relation.startswith(INVERSE) or relation in dataset.relations:
        return content
    turned = {"side": "head", "head": content.get("tail"), "tail": content.get("head")}
    return content | turned | {"relation": relation.removeprefix(INVERSE)}


def _pairs(where: str, predictions: Any, scores: Any) -> list[tuple[str, float]]:
    """Return the label and the score of each prediction; labels alone have the scores −1, −2, … by their places."""
    pairs = list(predictions.items()) if isinstance(predictions, dict) else predictions
    if scores is not None:
        if not isinstance(predictions, list) or not isinstance(scores, list) or len(predictions) != len(scores):
            raise CheckpointError(f"{where}: expected {SCORES} as a list, one for each label of {LISTED}.")
        return [_pair(where, pair) for pair in zip(predictions, scores, strict=True)]
    if not isinstance(pairs, list):
        raise CheckpointError(f"{where}: expected a list or an object as predictions, found {predictions!r:.40}.")
    if all(isinstance(label, str) for label in pairs):
        places = {label: float(-place) for place, label in enumerate(dict.fromkeys(pairs), 1)}
        return [(label, places[label]) for label in pairs]
    return [_pair(where, pair) for pair in pairs]


def _pair(where: str, pair: Any) -> tuple[str, float]:
    with suppress(TypeError, ValueError, OverflowError):  # it does not have two parts, or its score is too large
        label, score = pair
        if isinstance(label, str) and type(score) in (int, float) and math.isfinite(score):
            return label, float(score)
    raise CheckpointError(f"{where}: expected labels, in quotes, or pairs of label and score; found {pair!r:.60}.")
