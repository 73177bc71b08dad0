"""Files of ids: how each framework stores labels and their ids, and triples of ids in pickles and binary files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.arrays import IntArray
from kgeval.data.tables import NO_INTERVALS
from kgeval.data.text import UNIT_SEPARATOR, WHOLE_NUMBER, first_line, line_of, read_columns, refuse_missing, rows
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError, InputError, reason
from kgeval.files import opening as files
from kgeval.files.opening import free_memory
from kgeval.files.settings_text import read_yaml
from kgeval.paths import exists_safely


def read_mapping(path: Path) -> pa.Table:
    """Read rows of ``label,id`` as Marius writes them: the id follows the last comma, and nothing is quoted."""
    rows = read_columns(path, ["row"], delimiter=UNIT_SEPARATOR)["row"]
    whole = np.asarray(pc.match_substring(rows, ","), np.bool_)
    if not whole.all():
        line = line_of(path, int(np.argmin(whole)))
        raise DatasetError(f"{path}, line {line}: expected label,id; found no comma.")
    parts = pc.split_pattern(rows, ",", max_splits=1, reverse=True)
    return pa.table({name: pc.list_element(parts, index) for index, name in enumerate(("label", "id"))})


def counted_vocabulary(path: Path, kind: str) -> Vocabulary:
    """Read the labels of ``entity2id.txt`` or ``relation2id.txt``, whose first line may be their number.

    Between label and id are a tab or a space, or any number of spaces where the first row has no tab.
    """
    announced = announced_rows(path)
    skip = 0 if announced is None else 1
    first = next(rows(path, skip, delimiter=UNIT_SEPARATOR), None)
    tabs = first is None or "\t" in first.cells[0]
    table = read_columns(path, ["label", "id"], skip=skip) if tabs else _split_at_spaces(path, skip)
    refuse_cut(path, table, announced)
    return vocabulary_by_id(path, table, kind, skip=skip)


def _split_at_spaces(path: Path, skip: int) -> pa.Table:
    whole = read_columns(path, ["row"], skip=skip, delimiter=UNIT_SEPARATOR)["row"]
    cells = pc.extract_regex(whole, "^(?P<label>.*?) +(?P<id>[^ ]+) *$").combine_chunks()
    if cells.null_count:
        line = line_of(path, int(np.argmax(np.asarray(cells.is_null()))), skip)
        raise DatasetError(f"{path}, line {line}: expected a label, spaces and its id.")
    return pa.table(dict(zip(("label", "id"), cells.flatten(), strict=True)))


def announced_rows(path: Path) -> int | None:
    """Read how many rows a file announces in its first line; None if that is a row already, which ends in an id."""
    cells = first_line(path).split()
    whole = bool(cells) and WHOLE_NUMBER.fullmatch(cells[-1]) is not None and cells[-1].isascii()
    if not whole or (len(cells) == 1 and int(cells[0]) < 0):
        raise DatasetError(f"{path}, line 1: expected the number of rows, found {' '.join(cells)[:40]!r}.")
    return int(cells[0]) if len(cells) == 1 else None


def refuse_cut(path: Path, table: pa.Table, announced: int | None) -> None:
    if announced not in (None, table.num_rows):
        raise DatasetError(
            f"{path}: line 1 announces {announced} rows, but {table.num_rows} follow. The file may be cut short."
        )


def read_vocabulary(path: Path, kind: str, names: Sequence[str] = ("id", "label"), *, skip: int = 0) -> Vocabulary:
    """Read rows of labels and ids, in any order; ``skip`` lines precede the first."""
    return vocabulary_by_id(path, read_columns(path, names, skip=skip), kind, skip=skip)


def vocabulary_by_id(path: Path, table: pa.Table, kind: str, *, skip: int = 0) -> Vocabulary:
    """Order labels by their ids; ``table`` has the string columns ``label`` and ``id``."""
    ids = _row_ids(path, table, skip)
    order = np.argsort(ids, kind="stable")
    count = len(ids)
    if not np.array_equal(ids[order], np.arange(count)):
        row = _misplaced(ids, order)
        raise DatasetError(
            f"{path}, line {line_of(path, row, skip)}: the id {ids[row]} is wrong: the {count} ids must be 0 to "
            f"{count - 1}, each once."
        )
    try:
        return Vocabulary(table["label"].take(pa.array(order)), kind)
    except InputError as error:
        raise DatasetError(f"{path}: {error}") from error


def _row_ids(path: Path, table: pa.Table, skip: int) -> IntArray:
    spelled = pc.utf8_trim_whitespace(table["id"])
    whole = np.asarray(pc.match_substring_regex(spelled, "^-?[0-9]{1,18}$"), np.bool_)
    if not whole.all():
        row = int(np.argmin(whole))
        raise DatasetError(
            f"{path}, line {line_of(path, row, skip)}: the id {spelled[row].as_py()[:40]!r} is not a whole number. "
            f"Expected lines of {'<TAB>'.join(table.column_names)}."
        )
    return np.asarray(spelled.cast(pa.int64()))


def _misplaced(ids: IntArray, order: IntArray) -> int:
    """Find the first row whose id is beyond the others, or else repeats an earlier one."""
    beyond = (ids < 0) | (ids >= len(ids))
    repeats = order[1:][np.diff(ids[order]) == 0]
    return int(np.argmax(beyond)) if beyond.any() else int(repeats.min())


@dataclass(frozen=True)
class LabelFiles:
    """How a framework stores labels: one file for entities, one for relations."""

    entities: str
    relations: str
    id_first: bool = True
    """whether the columns are id, label; otherwise label, id"""
    commas: bool = False
    """whether commas separate the columns, and tabs do not"""
    counted: bool = False
    """whether the first line is the number of rows, or was left out"""
    columns_may_be_swapped: bool = False
    """whether some published files have the columns in the other order"""
    times: str | None = None
    """the file of a temporal graph's times"""

    def in_folder(self, folder: Path) -> dict[str, Path]:
        """Return the files that are in a folder, by the kind of labels: one may be there without the other."""
        return {kind: path for kind, path in self.paths(folder).items() if exists_safely(path) and path.is_file()}

    def paths(self, folder: Path) -> dict[str, Path]:
        """Return where the files of a folder are, or would be, by the kind of labels."""
        names = {"entity": self.entities, "relation": self.relations, "time": self.times}
        return {kind: folder / name for kind, name in names.items() if name is not None}

    def read(self, path: Path, kind: str) -> Vocabulary:
        """Read one of the files of a dataset."""
        if self.counted:
            return counted_vocabulary(path, kind)
        if self.commas:
            return vocabulary_by_id(path, read_mapping(path), kind)
        return read_vocabulary(path, kind, ("id", "label") if self.id_first else ("label", "id"))

    def read_both(self, folder: Path) -> tuple[Vocabulary, Vocabulary]:
        """Read the labels of the entities and of the relations of a dataset, whose files must be there."""
        return self.read(folder / self.entities, "entity"), self.read(folder / self.relations, "relation")


ROTATE = LabelFiles("entities.dict", "relations.dict")
DGLKE = LabelFiles("entities.tsv", "relations.tsv", columns_may_be_swapped=True)
LIBKGE = LabelFiles("entity_ids.del", "relation_ids.del")
OPENKE = LabelFiles("entity2id.txt", "relation2id.txt", id_first=False, counted=True)
KBC = LabelFiles("ent_id", "rel_id", id_first=False, times="ts_id")
MARIUS = LabelFiles("node_mapping.txt", "relation_mapping.txt", id_first=False, commas=True)
TSV = LabelFiles("entity_to_id.tsv", "relation_to_id.tsv", id_first=False, columns_may_be_swapped=True)
JSON = LabelFiles("entity_to_id.json", "relation_to_id.json", id_first=False)
PYKEEN = LabelFiles("entity_to_id.tsv.gz", "relation_to_id.tsv.gz")
PYKEEN_SAVED = LabelFiles("training_triples/entity_to_id.tsv.gz", "training_triples/relation_to_id.tsv.gz")

LABEL_FILES = (ROTATE, DGLKE, LIBKGE, OPENKE, KBC, MARIUS, TSV, JSON, PYKEEN_SAVED, PYKEEN)
"""of the RotatE code, DGL-KE, LibKGE, OpenKE, kbc, tkbc, Marius, PyKEEN, and as users of PyTorch Geometric do"""


LABEL = 2**7
"""bytes that the label of an id may take while it is made"""

MAX_UNUSED_ID_RATIO = 100
"""so many ids without a triple may there be for each id in one"""


def read_graph_settings(path: Path) -> dict[str, Any]:
    """Read the YAML that describes a stored graph."""
    refuse_missing(path)
    try:
        content = read_yaml(files.read_settings(path))
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read as YAML ({reason(error)}).") from error
    if not isinstance(content, dict):
        raise DatasetError(f"{path}: expected the settings of a dataset, as names and values.")
    return content


def numbered_labels(settings: Path, key: str, size: Any, kind: str) -> Vocabulary:
    """Label ids by themselves, as many as the settings of a graph say, where no file has labels."""
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise DatasetError(f"{settings}: without a file of {kind} labels it must say {key}; found {size!r:.60}.")
    if size > free_memory() // LABEL:
        raise DatasetError(f"{settings}: {key}: {size} do not fit into memory.")
    return Vocabulary.numbered(size, kind)


def id_columns(path: Path, columns: Sequence[Any]) -> Triples:
    """Take columns of head, relation and tail ids as triples."""
    arrays = [np.asarray(column) for column in columns]
    if any(array.ndim != 1 or array.dtype.kind not in "iu" for array in arrays) or len({*map(len, arrays)}) > 1:
        found = ", ".join(f"{array.dtype} {list(array.shape)}" for array in arrays)
        raise DatasetError(f"{path}: expected columns of ids, as many heads as relations and tails; found {found}.")
    return Triples(np.stack([_as_int64(path, array) for array in arrays], axis=1))


def stored_triples(path: Path, ids: npt.NDArray[Any], *, may_have_times: bool = False) -> Triples:
    """Take rows of head, relation and tail ids as triples; a fourth id, where there may be one, is that of a time."""
    ids = np.asarray(ids)
    timed = may_have_times and ids.shape[1:] == (4,)
    if ids.ndim != 2 or ids.shape[1] != 3 + timed or ids.dtype.kind not in "iu":
        expected = "three ids, or four with a time" if may_have_times else "three ids"
        hint = f" {NO_INTERVALS}" if may_have_times and ids.shape[1:] == (5,) else ""
        raise DatasetError(f"{path}: expected rows of {expected}; found {ids.dtype} of shape {list(ids.shape)}.{hint}")
    if len(ids) == 0:
        raise DatasetError(f"{path}: no triples in it.")
    whole = _as_int64(path, ids)
    return Triples(np.ascontiguousarray(whole[:, :3]), np.ascontiguousarray(whole[:, 3]) if timed else None)


def labels_of_ids(folder: Path, kind: str, splits: Mapping[str, Triples]) -> Vocabulary:
    """Label ids that have no labels with themselves: 0 to the largest one in any split."""
    columns = {"entity": slice(0, 3, 2), "relation": slice(1, 2)}.get(kind)
    parts = [triples.contexts if columns is None else triples.ids[:, columns].ravel() for triples in splits.values()]
    ids = np.concatenate([part for part in parts if part is not None])
    refuse_sparse(str(folder), kind, ids)
    return Vocabulary.numbered(int(ids.max()) + 1, kind)


def refuse_sparse(name: str, kind: str, ids: npt.NDArray[Any]) -> None:
    """Refuse ids whose largest is far beyond their number: labels for all below it would take any memory."""
    if ids.size and int(ids.max()) > MAX_UNUSED_ID_RATIO * (ids.size + 1):
        raise DatasetError(
            f"{name}: a triple names {kind} id {ids.max()}, but there are only {ids.size}. A file may be damaged."
        )


def _as_int64(path: Path, ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    if ids.size and (int(ids.min()) < 0 or int(ids.max()) >= 2**62):
        wrong = int(ids.min()) if int(ids.min()) < 0 else int(ids.max())
        raise DatasetError(f"{path}: the id {wrong} is not valid: ids start at 0 and are small.")
    return np.asarray(ids, np.int64)
