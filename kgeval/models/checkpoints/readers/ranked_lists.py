"""Lists as other programs write them: AnyBURL's rules for each triple, and TREC's runs of each query.

AnyBURL's lists are of every triple of a split, for its head and its tail, with confidences. What is not listed has no
confidence, so it shares the lowest place. Each list is that of its triple alone: it leaves out the other answers of the
query, and the lists of one query may differ in the last digits of their confidences.

A run of TREC has the ranked entities of each query, named as kgeval names them where it writes such files.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import CheckpointError
from kgeval.data.dataset import Dataset
from kgeval.data.queries import ID, NAME
from kgeval.data.rows import Rows
from kgeval.data.tables import NamedTable
from kgeval.data.text import find_delimiter, open_text, read_columns
from kgeval.data.triples import SIDES, Side
from kgeval.models.adapters.prediction_lists import ALL_LISTS, SideLists
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.reader import Reader
from kgeval.models.checkpoints.readers.predictions import CheckedLists, Predictions, needed_dataset, predictions_of
from kgeval.models.checkpoints.shared.locate import first_lines

MARKS: dict[str, Side] = {"Heads:": "head", "Tails:": "tail"}

ORDERS = ("confidence", "listed")
"""what ranks the candidates of a list: their confidences, which may tie, or their places in it"""

BRACED = re.compile(r"(.+)_\{([0-9]*[.,][0-9]*)\}")
"""an entity and its confidence, as kbc_evaluation takes them (J. Portisch)"""

LONGEST_LIST = 2**16
"""characters of a line that are looked at to recognise the file"""


def read_anyburl(path: Path, options: Options) -> Predictions:
    """Read predictions of three lines a triple: ``head relation tail``, ``Heads: entity confidence …``, ``Tails: …``.

    Entities and confidences are separated by tabs, or are ``entity_{confidence}`` between spaces. With the option
    ``order=listed``, candidates are ranked by their places in the list, so that equal confidences do not tie. Of a
    triple that occurs again, the last lists count, as in AnyBURL's own evaluation.
    """
    lists, order = CheckedLists(path, options), options.require("order", None, str(path), ORDERS, optional=True)
    _add_lines(path, lists)
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
                triple, seen = _triple_of(where, [mark, *cells], lists), set()
                continue
            if triple is None:
                raise CheckpointError(f"{where}: {mark} before the first triple (head relation tail).")
            side, (head, relation, tail) = MARKS[mark], triple
            key = (tail, relation, head) if side == "head" else (head, relation, tail)
            lists.add(where, side, key, _confidences(where, cells), "confidences")
            if side in seen:
                raise CheckpointError(f"{where}: {mark} occurs twice for one triple.")
            seen.add(side)


def _cells(line: str) -> list[str]:
    """Cut a line at tabs, and what is before them at spaces if it is a triple; a list begins with its mark."""
    text = line.strip()
    mark, listed = text[:6], text[6:].strip()
    if mark not in MARKS:
        return text.split("\t") if "\t" in text else text.split(" ")
    return [mark, *(_braced(listed) or listed.split("\t"))] if listed else [mark]


def _braced(listed: str) -> list[str]:
    """Split a list of ``entity_{confidence}`` between spaces; empty if it is not such a list."""
    found = [BRACED.fullmatch(word) for word in listed.split(" ")]
    cells = [cell for pair in found if pair for cell in (pair[1], pair[2].replace(",", "."))]
    return cells if all(found) else []


def _triple_of(where: str, cells: list[str], lists: CheckedLists) -> tuple[int, int, int]:
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
    return [(label, _confidence(where, label, cell)) for label, cell in zip(cells[::2], cells[1::2], strict=True)]


def _confidence(where: str, label: str, spelled: str) -> float:
    try:
        score = float(spelled)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise CheckpointError(f"{where}: the confidence {spelled[:40]!r} of {label!r} is not a number.")
    return score


def _is_anyburl(path: Path) -> bool:
    first, *marked = first_lines(path, 3, LONGEST_LIST)
    return len(first.split()) >= 3 and any(line[:6] in MARKS for line in marked)


ANYBURL = Reader(
    name="anyburl",
    summary="a file of AnyBURL's predictions (three lines a triple: head relation tail, Heads: …, Tails: …)",
    recognises=_is_anyburl,
    read=read_anyburl,
)


COLUMNS = ("query", "iteration", "entity", "rank", "score", "run")

NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"

CELLS = (
    ("query", NAME, "is not a name such as tail-12-3."),
    ("entity", rf"^{ID}$", "is not an id."),
    ("score", NUMBER, "is not a number."),
)
"""the pattern that the cells of a column must match"""


def read_trec(path: Path, options: Options) -> Predictions:
    """Read a run: lines of query, ``Q0``, entity, rank, score and the name of the run.

    A query is called ``tail-12-3``: its side, and the ids of its anchor and relation in the dataset, and in a temporal
    graph that of its time; an entity by its id. Entities are ranked by their scores, as by ``trec_eval``, which leaves
    ranks aside; equal scores tie.
    """
    return predictions_of("trec", path, options, _lists_of_run(path, needed_dataset(path, options)))


def _lists_of_run(path: Path, dataset: Dataset) -> dict[Side, SideLists]:
    delimiter = find_delimiter(path)
    table = NamedTable(path, read_columns(path, COLUMNS, delimiter=delimiter), delimiter=delimiter)
    for name, pattern, why in CELLS:
        table.refuse(~np.asarray(pc.match_substring_regex(table[name], pattern)), name, why)
    entities, scores = np.asarray(table["entity"].cast(pa.int64())), np.asarray(table["score"].cast(pa.float64()))
    table.refuse(~np.isfinite(scores), "score", "is not a finite number.")
    table.refuse(entities >= len(dataset.entities), "entity", _beyond("an entity", dataset, len(dataset.entities)))
    codes = table["query"].combine_chunks().dictionary_encode()
    owners = np.asarray(codes.indices, np.int64)
    order = np.lexsort((entities, owners))
    again = np.zeros(len(order), np.bool_)
    again[order[1:]] = (np.diff(owners[order]) == 0) & (np.diff(entities[order]) == 0)
    table.refuse(again, "entity", "is listed twice for its query.")
    order = np.argsort(owners, kind="stable")
    sides, ids = _queries(table, owners, codes.dictionary, dataset)
    every = {side: sides == side for side in SIDES}
    ordered = owners[order], entities[order], scores[order]
    return {side: _of_queries(chosen, ids, *ordered) for side, chosen in every.items() if chosen.any()}


def _queries(
    table: NamedTable, owners: IntArray, names: pa.Array, dataset: Dataset
) -> tuple[npt.NDArray[np.object_], list[IntArray]]:
    """Split the distinct names of queries into their parts; ``owners`` (int64[row]) is the name of each row.

    Returns their sides, object[query], and their ids, int64[query] each: anchors, relations, and of a temporal graph
    times.
    """
    parts = pc.extract_regex(names, NAME)
    timed = np.asarray(pc.not_equal(pc.struct_field(parts, "time"), ""))[owners]
    if dataset.times is None:
        table.refuse(timed, "query", f"has a time, but {dataset.name} has none.")
    else:
        table.refuse(~timed, "query", f"has no time (tail-12-3-5), but {dataset.name} is a temporal graph.")
    kinds = {"anchor": dataset.entities, "relation": dataset.relations, "time": dataset.times}
    labels = {name: found for name, found in kinds.items() if found is not None}
    ids = [np.asarray(pc.struct_field(parts, name).cast(pa.int64())) for name in labels]
    for found, (name, known) in zip(ids, labels.items(), strict=True):
        what = _beyond(f"{'an' if name == 'anchor' else 'a'} {name}", dataset, len(known))
        table.refuse((found >= len(known))[owners], "query", what)
    return pc.struct_field(parts, "side").to_numpy(zero_copy_only=False), ids


def _of_queries(
    chosen: BoolArray, ids: list[IntArray], owners: IntArray, entities: IntArray, scores: Float64Array
) -> SideLists:
    """Make the lists of the chosen queries (bool[query]) of rows that are in the order of queries."""
    rows = chosen[owners]
    anchors, relations, *times = (found[chosen].tolist() for found in ids)
    keys = zip(anchors, relations, [ALL_LISTS] * len(anchors), *times, strict=True)
    lengths = np.bincount(owners, minlength=len(chosen))[chosen]
    places = {key: row for row, key in enumerate(keys)}
    return SideLists(places, Rows.sized(lengths, entities[rows]), scores[rows])


def _beyond(what: str, dataset: Dataset, size: int) -> str:
    return f"names {what} that {dataset.name} does not have (its ids are below {size}). Is it the right dataset?"


def _is_run(path: Path) -> bool:
    cells = first_lines(path, 1, LONGEST_LIST)[0].split()
    return len(cells) == len(COLUMNS) and re.fullmatch(NAME, cells[0]) is not None


TREC = Reader(
    name="trec",
    summary="a run of TREC (lines of query, Q0, entity, rank, score, run; queries called tail-12-3, entities by id)",
    recognises=_is_run,
    read=read_trec,
)
