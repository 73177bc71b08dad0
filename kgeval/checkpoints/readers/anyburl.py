"""AnyBURL's predictions: for every triple of a split the heads and the tails that its rules propose, with confidences.

What is not listed has no confidence, so it shares the lowest place. Each list is that of its triple alone: it leaves
out the other answers of the query, and the lists of one query may differ in the last digits of their confidences.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

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
from kgeval.errors import CheckpointError, DatasetError, did_you_mean
from kgeval.scorers.adapters.prediction_lists import Key, OneList, SideLists

MARKS: dict[str, Side] = {"Heads:": "head", "Tails:": "tail"}

ORDERS = ("confidence", "listed")
"""what ranks the candidates of a list: their confidences, which may tie, or their places in it"""

BRACED = re.compile(r"(.+)_\{([0-9]*[.,][0-9]*)\}")
"""an entity and its confidence, as kbc_evaluation takes them (J. Portisch)"""

LONGEST = 2**16
"""characters of a line that are looked at to recognise the file"""


def read(path: Path, options: Options) -> Predictions:
    """Read predictions of three lines a triple: ``head relation tail``, ``Heads: entity confidence …``, ``Tails: …``.

    Entities and confidences stand between tabs; or as ``entity_{confidence}`` between spaces. With the option
    ``order=listed``, candidates are ranked by their places in the list, so that equal confidences do not tie. Of a
    triple that is there again, the last lists stand, as in AnyBURL's own evaluation.
    """
    dataset = needed_dataset(path, options)
    order = options.resolve("order", None, "") or "confidence"
    if order not in ORDERS:
        raise CheckpointError(f"{path}: unknown order {order!r} of predictions. {did_you_mean(str(order), ORDERS)}")
    found: dict[Side, dict[Key, OneList]] = {side: {} for side in SIDES}
    repeats = 0
    try:
        for (side, key, listed), cells in _lists(path, dataset):
            found[side][key] = listed
            repeats += cells - len(listed.ids)
    except DatasetError as error:
        raise CheckpointError(str(error)) from error
    sides = {side: SideLists.of(lists) for side, lists in found.items() if lists}
    if order == "listed":
        sides = {side: lists.by_place() for side, lists in sides.items()}
    return predictions_of("anyburl", path, options, sides, note_on_repeats(repeats))


def _lists(path: Path, dataset: Dataset) -> Iterator[tuple[ListedOnce, int]]:
    """Yield each list, and how many predictions its line has."""
    entities = {label: index for index, label in enumerate(dataset.entities)}
    relations = {label: index for index, label in enumerate(dataset.relations)}
    triple: tuple[int, int, int] | None = None
    seen: set[Side] = set()
    with open_text(path) as text:
        for number, line in enumerate(text, 1):
            mark, *cells = _cells(line)
            if not mark and not cells:
                continue
            where = f"{path}, line {number}"
            if mark not in MARKS:
                triple, seen = _triple(where, [mark, *cells], entities, relations), set()
                continue
            if triple is None:
                raise CheckpointError(f"{where}: {mark} before the first triple (head relation tail).")
            side, (head, relation, tail) = MARKS[mark], triple
            key = (tail, relation, head) if side == "head" else (head, relation, tail)
            listed = ListedOnce(side, key, OneList.of(_confidences(where, cells, entities)))
            if side in seen:
                raise CheckpointError(f"{where}: {mark} a second time for the same triple.")
            seen.add(side)
            yield listed, len(cells) // 2


def _cells(line: str) -> list[str]:
    """Cut a line at tabs, and what is before them at spaces if it is a triple; a list begins with its mark."""
    text = line.strip()
    mark, listed = text[:6], text[6:].strip()
    if mark not in MARKS:
        return text.split("\t") if "\t" in text else text.split(" ")
    return [mark, *(_braced(listed) or listed.split("\t"))] if listed else [mark]


def _braced(listed: str) -> list[str]:
    """Cut a list of ``entity_{confidence}`` between spaces; nothing where it is no such list."""
    found = [BRACED.fullmatch(word) for word in listed.split(" ")]
    cells = [cell for pair in found if pair for cell in (pair[1], pair[2].replace(",", "."))]
    return cells if all(found) else []


def _triple(where: str, cells: list[str], entities: dict[str, int], relations: dict[str, int]) -> tuple[int, int, int]:
    if len(cells) != 3:
        raise CheckpointError(
            f"{where}: expected head, relation, tail, or 'Heads:', 'Tails:'; found {len(cells)} words."
        )
    for cell, known, kind in zip(cells, (entities, relations, entities), ("entity", "relation", "entity"), strict=True):
        if cell not in known:
            raise CheckpointError(f"{where}: unknown {kind} {cell!r}. Is it the right dataset?")
    head, relation, tail = cells
    return entities[head], relations[relation], entities[tail]


def _confidences(where: str, cells: list[str], entities: dict[str, int]) -> dict[int, float]:
    if len(cells) % 2:
        raise CheckpointError(
            f"{where}: expected pairs of entity and confidence, between tabs; found {len(cells)} cells."
        )
    scores: dict[int, float] = {}
    for label, spelled in zip(cells[::2], cells[1::2], strict=True):
        if label not in entities:
            raise CheckpointError(f"{where}: unknown entity {label!r}. Is it the right dataset?")
        try:
            score = float(spelled)
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise CheckpointError(f"{where}: the confidence {spelled[:40]!r} of {label!r} is no number.")
        if scores.setdefault(entities[label], score) != score:
            raise CheckpointError(
                f"{where}: {label!r} is listed twice, with the confidences {scores[entities[label]]}, {score}."
            )
    return scores


def _recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with open_text(path) as text:
            beginning = list(islice((text.readline(LONGEST).strip() for _ in range(3)), 3))
    except DatasetError:
        return False
    return len(beginning[0].split()) >= 3 and any(line[:6] in MARKS for line in beginning[1:])


READER = Reader(
    name="anyburl",
    summary="a file of AnyBURL's predictions (three lines a triple: head relation tail, Heads: …, Tails: …)",
    recognises=_recognises,
    read=read,
)
