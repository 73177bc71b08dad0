"""Runs of TREC: the ranked entities of each query, named as kgeval names them where it writes such files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.readers.prediction_file import Predictions, needed_dataset, predictions_of
from kgeval.data.dataset import Dataset
from kgeval.data.queries import ID, NAME
from kgeval.data.rows import Rows
from kgeval.data.text import line_of, open_text, read_columns
from kgeval.data.triples import SIDES, Side
from kgeval.errors import CheckpointError, DatasetError
from kgeval.scorers.adapters.prediction_lists import ALL_LISTS, SideLists

COLUMNS = ("query", "iteration", "entity", "rank", "score", "run")

NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"

OTHER_DATASET = " Is it the right dataset?"

LONGEST = 2**12
"""characters of a line that are looked at to recognise the file"""


def read(path: Path, options: Options) -> Predictions:
    """Read a run: lines of query, ``Q0``, entity, rank, score and the name of the run.

    A query is called ``tail-12-3``: its side, and the ids of its anchor and relation in the dataset, and in a temporal
    graph that of its time; an entity by its id. Entities are ranked by their scores, as by ``trec_eval``, which leaves
    ranks aside; equal scores tie.
    """
    try:
        sides = _lists(path, needed_dataset(path, options))
    except DatasetError as error:
        raise CheckpointError(str(error)) from error
    return predictions_of("trec", path, options, sides)


class _Column(NamedTuple):
    """The cells of a column as text."""

    path: Path
    name: str
    cells: pa.ChunkedArray

    def refuse(self, wrong: BoolArray, why: str, hint: str = "") -> None:
        """Refuse the first of some rows (bool[row]), with its line and its cell."""
        if wrong.any():
            row = int(np.argmax(wrong))
            cell = self.cells[row].as_py()[:40]
            raise CheckpointError(f"{self.path}, line {line_of(self.path, row)}: the {self.name} {cell!r} {why}.{hint}")

    def refuse_unlike(self, pattern: str, why: str) -> None:
        self.refuse(~np.asarray(pc.match_substring_regex(self.cells, pattern)), why)


def _lists(path: Path, dataset: Dataset) -> dict[Side, SideLists]:
    table = read_columns(path, COLUMNS)
    query, entity, score = (_Column(path, name, table[name]) for name in ("query", "entity", "score"))
    query.refuse_unlike(NAME, "is not named as tail-12-3")
    entity.refuse_unlike(rf"^{ID}$", "is no id")
    score.refuse_unlike(NUMBER, "is no number")
    entities, scores = np.asarray(entity.cells.cast(pa.int64())), np.asarray(score.cells.cast(pa.float64()))
    score.refuse(~np.isfinite(scores), "is no finite number")
    size = len(dataset.entities)
    entity.refuse(entities >= size, _beyond("an entity", dataset, size), OTHER_DATASET)
    codes = query.cells.combine_chunks().dictionary_encode()
    owners = np.asarray(codes.indices, np.int64)
    order = np.lexsort((entities, owners))
    again = np.zeros(len(order), np.bool_)
    again[order[1:]] = (np.diff(owners[order]) == 0) & (np.diff(entities[order]) == 0)
    entity.refuse(again, "is there a second time for its query")
    order = np.argsort(owners, kind="stable")
    sides, ids = _queries(query, owners, codes.dictionary, dataset)
    every = {side: sides == side for side in SIDES}
    ordered = owners[order], entities[order], scores[order]
    return {side: _of_queries(chosen, ids, *ordered) for side, chosen in every.items() if chosen.any()}


def _queries(
    column: _Column, owners: IntArray, names: pa.Array, dataset: Dataset
) -> tuple[npt.NDArray[np.object_], list[IntArray]]:
    """Take the distinct names of a column apart, of which ``owners`` (int64[row]) says where they stand.

    Returns their sides, object[query], and their ids, int64[query] each: anchors, relations, and of a temporal graph
    times.
    """
    parts = pc.extract_regex(names, NAME)
    timed = np.asarray(pc.not_equal(pc.struct_field(parts, "time"), ""))[owners]
    if dataset.times is None:
        column.refuse(timed, f"is of a time, and {dataset.name} has none")
    else:
        column.refuse(~timed, f"lacks its time (tail-12-3-5), and {dataset.name} is a temporal graph")
    kinds = {"anchor": dataset.entities, "relation": dataset.relations, "time": dataset.times}
    labels = {name: found for name, found in kinds.items() if found is not None}
    ids = [np.asarray(pc.struct_field(parts, name).cast(pa.int64())) for name in labels]
    for found, (name, known) in zip(ids, labels.items(), strict=True):
        what = _beyond(f"{'an' if name == 'anchor' else 'a'} {name}", dataset, len(known))
        column.refuse((found >= len(known))[owners], what, OTHER_DATASET)
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
    return f"names {what} beyond the {size} of {dataset.name}"


def _recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with open_text(path) as text:
            cells = text.readline(LONGEST).split()
    except DatasetError:
        return False
    return len(cells) == len(COLUMNS) and re.fullmatch(NAME, cells[0]) is not None


READER = Reader(
    name="trec",
    summary="a run of TREC (lines of query, Q0, entity, rank, score, run; queries called tail-12-3, entities by id)",
    recognises=_recognises,
    read=read,
)
