"""AnyBURL's predictions: for each triple of a split a list of heads and a list of tails, with confidences.

``load_checkpoint`` calls the reader: a path and the user's options become ``Predictions``, a scorer of lists. Entities
that are not listed have no confidence: they tie below the listed ones. Each list belongs to one triple: it leaves out
the other answers of the query, and the lists of one query may differ in the last digits of confidences.

The file has three lines for each triple: ``head relation tail``, ``Heads: entity confidence …``, ``Tails: …``.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from pathlib import Path

from kgeval.base.errors import CheckpointError
from kgeval.data.text import open_text
from kgeval.data.triples import Side
from kgeval.models.checkpoints.locate import first_lines
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.checkpoints.readers.prediction_model import CheckedLists, Predictions

MARKS: dict[str, Side] = {"Heads:": "head", "Tails:": "tail"}

ORDERS = ("confidence", "listed")
"""what ranks the candidates of a list: their confidences, which may tie, or their places in it"""

BRACED = re.compile(r"(.+)_\{([0-9]*[.,][0-9]*)\}")
"""an entity and its confidence, as kbc_evaluation takes them (J. Portisch)"""


def read(path: Path, options: Options) -> Predictions:
    """Read the lists of each triple for its head and its tail.

    Entities and confidences are separated by tabs, or are ``entity_{confidence}`` between spaces. With the option
    ``order=listed``, candidates are ranked by their places in the list, so that equal confidences do not tie. If a
    triple occurs again, its last lists count, as in AnyBURL's own evaluation.
    """
    lists, order = CheckedLists(path, options), options.require("order", None, str(path), ORDERS, optional=True)
    _add_lines(path, lists)
    return lists.predictions("anyburl", by_place=order == "listed")


def _is_anyburl(path: Path) -> bool:
    first, *marked = first_lines(path, 3)
    return len(first.split()) >= 3 and any(line[:6] in MARKS for line in marked)


READER = Reader(
    name="anyburl",
    summary="a file of AnyBURL's predictions (three lines a triple: head relation tail, Heads: …, Tails: …)",
    recognises=_is_anyburl,
    read=read,
)


def _add_lines(path: Path, lists: CheckedLists) -> None:
    triple: tuple[int, int, int] | None = None
    done: set[Side] = set()
    with open_text(path) as text:
        for number, line in enumerate(text, 1):
            mark, *cells = _cells(line)
            if not mark and not cells:
                continue
            where = f"{path}, line {number}"
            if mark not in MARKS:
                triple, done = _triple_of(where, [mark, *cells], lists), set()
                continue
            if triple is None:
                raise CheckpointError(f"{where}: {mark} before the first triple (head relation tail).")
            side, (head, relation, tail) = MARKS[mark], triple
            key = (tail, relation, head) if side == "head" else (head, relation, tail)
            lists.add(where, side, key, _confidences(where, cells), "confidences")
            if side in done:
                raise CheckpointError(f"{where}: {mark} occurs twice for one triple.")
            done.add(side)


def _cells(line: str) -> list[str]:
    """Cut a line into cells: a triple at its tabs, or else at its spaces; a list into its mark and its cells."""
    text = line.strip()
    mark, listed = text[:6], text[6:].strip()
    if mark not in MARKS:
        return text.split("\t") if "\t" in text else text.split(" ")
    return [mark, *(_braced(listed) or listed.split("\t"))] if listed else [mark]


def _braced(listed: str) -> list[str]:
    """Split a list of ``entity_{confidence}`` between spaces; empty if it is not such a list."""
    pairs = [BRACED.fullmatch(word) for word in listed.split(" ")]
    cells = [cell for pair in pairs if pair for cell in (pair[1], pair[2].replace(",", "."))]
    return cells if all(pairs) else []


def _triple_of(where: str, cells: list[str], lists: CheckedLists) -> tuple[int, int, int]:
    if len(cells) != 3:
        raise CheckpointError(f"{where}: expected head, relation, tail, or Heads: or Tails:; found {len(cells)} words.")
    head, relation, tail = cells
    return lists.id(where, "entity", head), lists.id(where, "relation", relation), lists.id(where, "entity", tail)


def _confidences(where: str, cells: list[str]) -> list[tuple[str, float]]:
    if len(cells) % 2:
        raise CheckpointError(f"{where}: expected pairs of entity and confidence; found {len(cells)} cells.")
    return [(label, _confidence(where, label, cell)) for label, cell in zip(cells[::2], cells[1::2], strict=True)]


def _confidence(where: str, label: str, spelled: str) -> float:
    with suppress(ValueError):
        score = float(spelled)
        if math.isfinite(score):
            return score
    raise CheckpointError(f"{where}: the confidence {spelled[:40]!r} of {label!r} is not a number.")
