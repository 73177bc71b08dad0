"""AnyBURL's predictions: for every triple of a split the heads and the tails that its rules propose, with confidences.

What is not listed has no confidence, so it shares the lowest place. Each list is that of its triple alone: it leaves
out the other answers of the query, and the lists of one query may differ in the last digits of their confidences.
"""

from __future__ import annotations

import math
import re
from itertools import islice
from pathlib import Path

from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.readers.prediction_file import CheckedLists, Predictions
from kgeval.data.text import open_text
from kgeval.data.triples import Side
from kgeval.errors import CheckpointError, DatasetError, did_you_mean

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
    lists, order = CheckedLists(path, options), options.resolve("order", None, "") or "confidence"
    if order not in ORDERS:
        raise CheckpointError(f"{path}: unknown order {order!r} of predictions. {did_you_mean(str(order), ORDERS)}")
    try:
        _add_lines(path, lists)
    except DatasetError as error:
        raise CheckpointError(str(error)) from error
    return lists.predictions("anyburl", by_place=order == "listed")


def _add_lines(path: Path, lists: CheckedLists) -> None:
    triple: tuple[int, int, int] | None = None
    seen: set[Side] = set()
    with open_text(path) as text:
        for number, line in enumerate(text, 1):
            mark, *cells = _cells(line)
            if not mark and not cells:
                continue
            where = f"{path}, line {number}"
            if mark not in MARKS:
                triple, seen = _triple(where, [mark, *cells], lists), set()
                continue
            if triple is None:
                raise CheckpointError(f"{where}: {mark} before the first triple (head relation tail).")
            side, (head, relation, tail) = MARKS[mark], triple
            key = (tail, relation, head) if side == "head" else (head, relation, tail)
            lists.add(where, side, key, _confidences(where, cells), "confidences")
            if side in seen:
                raise CheckpointError(f"{where}: {mark} a second time for the same triple.")
            seen.add(side)


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


def _triple(where: str, cells: list[str], lists: CheckedLists) -> tuple[int, int, int]:
    if len(cells) != 3:
        raise CheckpointError(
            f"{where}: expected head, relation, tail, or 'Heads:', 'Tails:'; found {len(cells)} words."
        )
    head, relation, tail = cells
    return lists.id(where, "entity", head), lists.id(where, "relation", relation), lists.id(where, "entity", tail)


def _confidences(where: str, cells: list[str]) -> list[tuple[str, float]]:
    if len(cells) % 2:
        raise CheckpointError(
            f"{where}: expected pairs of entity and confidence, between tabs; found {len(cells)} cells."
        )
    return [(label, _number(where, label, cell)) for label, cell in zip(cells[::2], cells[1::2], strict=True)]


def _number(where: str, label: str, spelled: str) -> float:
    try:
        score = float(spelled)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise CheckpointError(f"{where}: the confidence {spelled[:40]!r} of {label!r} is no number.")
    return score


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
