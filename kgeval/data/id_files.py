"""Files of ids: which files each framework stores its labels and their ids in, and how these are read.

The layouts of ids (``layouts/id_folders.py`` and others) and the readers of checkpoints read labels by the
``LABEL_FILES``. Triples of ids from pickles and binary files are checked by :func:`stored_triples`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base import files
from kgeval.base.errors import DatasetError, naming, refusing
from kgeval.base.files import exists_safely
from kgeval.base.settings_text import read_yaml
from kgeval.data.tables import NO_INTERVALS, NamedTable, read_pairs, read_text
from kgeval.data.text import WHOLE_NUMBER, find_delimiters, first_line, further_columns, refuse_missing
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary


@dataclass(frozen=True)
class LabelFiles:
    """How a framework stores labels: one file for entities, one for relations."""

    entities: str
    relations: str
    columns: tuple[str, str] = ("id", "label")
    between: str = ""
    """the separator of a label and its id, a key of ``DIVISIONS``, if the label may contain it too"""
    counted: bool = False
    """whether the first line is the number of rows, or left out; ``between`` is then only for files without tabs"""
    columns_may_be_swapped: bool = False
    """whether some published files have the columns in the other order"""
    times: str | None = None
    """the file of a temporal graph's times; if None, times are whole numbers, which are their own labels"""
    further: bool = False
    """whether there may be further columns, which are not read"""

    def in_folder(self, folder: Path) -> dict[str, Path]:
        """Return the files that are in a folder, by the kind of labels: one may be there without the other."""
        return {kind: path for kind, path in self.paths(folder).items() if exists_safely(path) and path.is_file()}

    def paths(self, folder: Path) -> dict[str, Path]:
        """Return where the files of a folder are, or would be, by the kind of labels."""
        names = {"entity": self.entities, "relation": self.relations, "time": self.times}
        return {kind: folder / name for kind, name in names.items() if name is not None}

    def table(self, path: Path, *, skip: int = 0, **form: Any) -> NamedTable:
        """Read the columns ``id`` and ``label`` of a file; ``form`` has its delimiter and quotes, if they are known."""
        if not self.between or (self.counted and find_delimiters(path, skip)[0] == "\t"):
            others = further_columns(path, 2, skip) if self.further else ()
            table = read_text(path, self.columns, skip=skip, untyped=others, **form)
            return replace(table, data=table.data.select(self.columns))
        return read_pairs(path, self.columns, self.between, skip=skip)

    def read(self, path: Path, kind: str) -> Vocabulary:
        """Read one of the files of a dataset."""
        return vocabulary_by_id(read_counted(path, self.table) if self.counted else self.table(path), kind)

    def read_both(self, folder: Path) -> tuple[Vocabulary, Vocabulary]:
        """Read the labels of the entities and of the relations of a dataset, whose files must be there."""
        return self.read(folder / self.entities, "entity"), self.read(folder / self.relations, "relation")


LABEL_FIRST = ("label", "id")

ROTATE = LabelFiles("entities.dict", "relations.dict")
DGLKE = LabelFiles("entities.tsv", "relations.tsv", columns_may_be_swapped=True)
LIBKGE = LabelFiles("entity_ids.del", "relation_ids.del")
OPENKE = LabelFiles("entity2id.txt", "relation2id.txt", LABEL_FIRST, "spaces", counted=True)
RENET = LabelFiles("entity2id.txt", "relation2id.txt", LABEL_FIRST, further=True)
KBC = LabelFiles("ent_id", "rel_id", LABEL_FIRST, times="ts_id")
MARIUS = LabelFiles("node_mapping.txt", "relation_mapping.txt", LABEL_FIRST, "a comma")
TSV = LabelFiles("entity_to_id.tsv", "relation_to_id.tsv", LABEL_FIRST, columns_may_be_swapped=True)
JSON = LabelFiles("entity_to_id.json", "relation_to_id.json", LABEL_FIRST)
TLOGIC = LabelFiles("entity2id.json", "relation2id.json", LABEL_FIRST, times="ts2id.json")
PYKEEN = LabelFiles("entity_to_id.tsv.gz", "relation_to_id.tsv.gz")
PYKEEN_SAVED = LabelFiles("training_triples/entity_to_id.tsv.gz", "training_triples/relation_to_id.tsv.gz")

LABEL_FILES = (ROTATE, DGLKE, LIBKGE, OPENKE, KBC, MARIUS, TSV, JSON, TLOGIC, PYKEEN_SAVED, PYKEEN)
"""the files of the RotatE code, DGL-KE, LibKGE, OpenKE, kbc, tkbc, Marius, TLogic, PyKEEN and users of PyTorch
Geometric; if two of these have equally many files in a folder, the first is taken"""


def vocabulary_by_id(table: NamedTable, kind: str) -> Vocabulary:
    """Order labels by their ids; the table has the text columns ``label`` and ``id``."""
    spelled = pc.utf8_trim_whitespace(table["id"])
    whole = np.asarray(pc.match_substring_regex(spelled, "^-?[0-9]{1,18}$"), np.bool_)
    table.refuse(~whole, "id", f"is not a whole number. Expected lines of {'<TAB>'.join(table.data.column_names)}.")
    table = table.with_column("id", spelled.cast(pa.int64()))
    ids, count = np.asarray(table["id"]), len(table)
    order = np.argsort(ids, kind="stable")
    wrong = (ids < 0) | (ids >= count)
    wrong[order[1:][np.diff(ids[order]) == 0]] = True
    table.refuse(wrong, "id", f"is wrong: the {count} ids must be 0 to {count - 1}, each once.")
    with naming(table.source):
        return Vocabulary(table["label"].take(pa.array(order)), kind)


def read_counted(path: Path, read: Callable[..., NamedTable]) -> NamedTable:
    """Read a table whose first line may be the number of its rows; ``read`` takes the path and ``skip``."""
    announced = announced_rows(path)
    table = read(path, skip=int(announced is not None))
    if announced not in (None, len(table)):
        raise DatasetError(f"{path}: line 1 announces {announced} rows, but {len(table)} follow. It may be cut short.")
    return table


def announced_rows(path: Path) -> int | None:
    """Read how many rows a file announces in its first line; None if that is a row already, which ends in an id."""
    cells = first_line(path).split()
    whole = bool(cells) and WHOLE_NUMBER.fullmatch(cells[-1]) is not None and cells[-1].isascii()
    if not whole or (len(cells) == 1 and int(cells[0]) < 0):
        raise DatasetError(f"{path}, line 1: expected the number of rows, found {' '.join(cells)[:40]!r}.")
    return int(cells[0]) if len(cells) == 1 else None


def labels_of_ids(folder: Path, kind: str, splits: Mapping[str, Triples]) -> Vocabulary:
    """Make labels for ids that have none: the ids themselves, from 0 to the largest one in any split."""
    columns = {"entity": slice(0, 3, 2), "relation": slice(1, 2)}.get(kind)
    parts = [triples.contexts if columns is None else triples.ids[:, columns].ravel() for triples in splits.values()]
    ids = np.concatenate([part for part in parts if part is not None])
    refuse_sparse(str(folder), kind, ids)
    return Vocabulary.numbered(int(ids.max()) + 1, kind)


def refuse_sparse(name: str, kind: str, ids: npt.NDArray[Any]) -> None:
    """Refuse ids if the largest is far beyond their number: a label for every id below it could take any memory."""
    if ids.size and int(ids.max()) > MAX_UNUSED_ID_RATIO * (ids.size + 1):
        fault = f"a triple names {kind} id {ids.max()}, but there are only {ids.size}"
        raise DatasetError(f"{name}: {fault}. A file may be damaged.")


MAX_UNUSED_ID_RATIO = 100
"""the most ids without a triple, for each id in a triple"""


def stored_triples(path: Path, ids: npt.NDArray[Any], *, may_have_times: bool = False) -> Triples:
    """Take rows of head, relation and tail ids as triples; a fourth id, where it is allowed, is the id of a time."""
    ids = np.asarray(ids)
    timed = may_have_times and ids.shape[1:] == (4,)
    if ids.shape[1:] != (3 + timed,) or ids.dtype.kind not in "iu":
        expected = "three ids, or four with a time" if may_have_times else "three ids"
        hint = f" {NO_INTERVALS}" if may_have_times and ids.shape[1:] == (5,) else ""
        raise DatasetError(f"{path}: expected rows of {expected}; found {ids.dtype} of shape {list(ids.shape)}.{hint}")
    if len(ids) == 0:
        raise DatasetError(f"{path}: no triples in it.")
    with naming(path):
        return Triples(Triples.of(ids[:, :3]).ids, ids[:, 3].astype(np.int64) if timed else None)


def read_graph_settings(path: Path) -> dict[str, Any]:
    """Read the YAML that describes a stored graph."""
    refuse_missing(path)
    with refusing(path, "cannot be read as YAML", OSError, ValueError):
        content = read_yaml(files.read_settings(path))
    if not isinstance(content, dict):
        raise DatasetError(f"{path}: expected the settings of a dataset, as names and values.")
    return content
