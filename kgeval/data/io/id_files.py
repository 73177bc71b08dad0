"""Files of labels and their ids, in any order: the vocabularies of frameworks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.arrays import IntArray
from kgeval.data.io.text import line_of, read_columns
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError, InputError

UNIT_SEPARATOR = "\x1f"
"""a character that separates units, and is in no label"""


def read_mapping(path: Path) -> pa.Table:
    """Read rows of ``label,id`` as Marius writes them: the id follows the last comma, and nothing is quoted."""
    rows = read_columns(path, ["row"], delimiter=UNIT_SEPARATOR)["row"]
    whole = np.asarray(pc.match_substring(rows, ","), np.bool_)
    if not whole.all():
        line = line_of(path, int(np.argmin(whole)))
        raise DatasetError(f"{path}, line {line}: no comma, where label,id are expected.")
    parts = pc.split_pattern(rows, ",", max_splits=1, reverse=True)
    return pa.table({name: pc.list_element(parts, index) for index, name in enumerate(("label", "id"))})


def vocabulary_by_id(path: Path, table: pa.Table, kind: str, *, skip: int) -> Vocabulary:
    """Order labels by their ids.

    ``table`` has the string columns ``label`` and ``id``; ``skip`` lines precede its first row in the file.
    """
    ids = _ids(path, table, skip)
    order = np.argsort(ids, kind="stable")
    count = len(ids)
    if not np.array_equal(ids[order], np.arange(count)):
        row = _misplaced(ids, order)
        raise DatasetError(
            f"{path}, line {line_of(path, row, skip)}: the id {ids[row]} is out of place: "
            f"its {count} ids are not 0 to {count - 1}, each once."
        )
    try:
        return Vocabulary(table["label"].take(pa.array(order)), kind)
    except InputError as error:
        raise DatasetError(f"{path}: {error}") from error


def _ids(path: Path, table: pa.Table, skip: int) -> IntArray:
    spelled = pc.utf8_trim_whitespace(table["id"])
    whole = np.asarray(pc.match_substring_regex(spelled, "^-?[0-9]{1,18}$"), np.bool_)
    if not whole.all():
        row = int(np.argmin(whole))
        raise DatasetError(
            f"{path}, line {line_of(path, row, skip)}: an id is not a whole number. "
            f"Lines are {'<TAB>'.join(table.column_names)}; this id is {spelled[row].as_py()[:40]!r}."
        )
    return np.asarray(spelled.cast(pa.int64()))


def _misplaced(ids: IntArray, order: IntArray) -> int:
    """Find the first row whose id is beyond the others, or else repeats an earlier one."""
    beyond = (ids < 0) | (ids >= len(ids))
    repeats = order[1:][np.diff(ids[order]) == 0]
    return int(np.argmax(beyond)) if beyond.any() else int(repeats.min())
