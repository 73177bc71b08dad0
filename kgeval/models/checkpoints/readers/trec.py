"""Runs of TREC: scored entities of each query, one in each line, as ``trec_eval`` reads them and kgeval writes them.

``load_checkpoint`` calls the reader: a path and the user's options become ``Predictions``, a scorer of lists. Queries
and entities have the names that kgeval gives them in such files (``ranking/predictions/prediction_files.py``).
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.queries import ID, NAME, Rows
from kgeval.data.tables import NamedTable
from kgeval.data.text import find_delimiters, read_columns
from kgeval.data.triples import SIDES, Side
from kgeval.models.adapters.prediction_lists import ALL_LISTS, SideLists
from kgeval.models.checkpoints.locate import first_lines
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.checkpoints.readers.prediction_model import NO_NAMES, Predictions, model_of_lists

COLUMNS = ("query", "iteration", "entity", "rank", "score", "run")

NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"

CELLS = (
    ("query", NAME, "is not a name such as tail-12-3."),
    ("entity", rf"^{ID}$", "is not an id."),
    ("score", NUMBER, "is not a number."),
)
"""columns, the pattern that their cells must match, and the words of the refusal"""


def read(path: Path, options: Options) -> Predictions:
    """Read a run: lines of query, ``Q0``, entity, rank, score and the name of the run.

    A query is called ``tail-12-3``: its side, the ids of its anchor and relation in the dataset, and in a temporal
    graph the id of its time. An entity is called by its id. Entities are ranked by their scores, as by ``trec_eval``,
    which leaves ranks aside; equal scores tie.
    """
    return model_of_lists("trec", path, options, _lists_of_run(path, options.needed_dataset(path, NO_NAMES)))


def _is_run(path: Path) -> bool:
    cells = first_lines(path, 1)[0].split()
    return len(cells) == len(COLUMNS) and re.fullmatch(NAME, cells[0]) is not None


READER = Reader(
    name="trec",
    summary="a run of TREC (lines of query, Q0, entity, rank, score, run; queries called tail-12-3, entities by id)",
    recognises=_is_run,
    read=read,
)


def _lists_of_run(path: Path, dataset: Dataset) -> dict[Side, SideLists]:
    delimiter = find_delimiters(path)[0]
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
    sides, ids = _parts_of_names(table, owners, codes.dictionary, dataset)
    ordered = owners[order], entities[order], scores[order]
    return {side: _lists_of_queries(sides == side, ids, *ordered) for side in SIDES if side in sides}


def _parts_of_names(
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
    labels = {name: value for name, value in kinds.items() if value is not None}
    ids = [np.asarray(pc.struct_field(parts, name).cast(pa.int64())) for name in labels]
    for value, (name, known) in zip(ids, labels.items(), strict=True):
        why = _beyond(f"{'an' if name == 'anchor' else 'a'} {name}", dataset, len(known))
        table.refuse((value >= len(known))[owners], "query", why)
    return pc.struct_field(parts, "side").to_numpy(zero_copy_only=False), ids


def _beyond(what: str, dataset: Dataset, size: int) -> str:
    return f"names {what} that {dataset.name} does not have (its ids are below {size}). Is it the right dataset?"


def _lists_of_queries(
    chosen: BoolArray, ids: list[IntArray], owners: IntArray, entities: IntArray, scores: Float64Array
) -> SideLists:
    """Make the lists of the chosen queries (bool[query]); rows, whose queries are ``owners``, are sorted by query."""
    rows = chosen[owners]
    anchors, relations, *times = (column[chosen].tolist() for column in ids)
    keys = zip(anchors, relations, [ALL_LISTS] * len(anchors), *times, strict=True)
    lengths = np.bincount(owners, minlength=len(chosen))[chosen]
    return SideLists({key: row for row, key in enumerate(keys)}, Rows.sized(lengths, entities[rows]), scores[rows])
