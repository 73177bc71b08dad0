"""Where the files of a checkpoint are: the one that is meant in a folder, and the labels beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from kgeval.checkpoints.checkpoint import Options
from kgeval.errors import CheckpointError
from kgeval.graph.vocabulary import Vocabulary
from kgeval.paths import is_there


@dataclass(frozen=True)
class LabelFiles:
    """How a framework stores labels: one file for entities, one for relations."""

    entities: str
    relations: str
    id_first: bool = True
    """whether the columns are id, label; otherwise label, id"""
    delimiter: str = "\t"
    counted: bool = False
    """whether the first line is the number of rows"""


LABEL_FILES = (
    LabelFiles("entities.dict", "relations.dict"),
    LabelFiles("entities.tsv", "relations.tsv"),
    LabelFiles("entity_ids.del", "relation_ids.del"),
    LabelFiles("entity2id.txt", "relation2id.txt", id_first=False, counted=True),
    LabelFiles("ent_id", "rel_id", id_first=False),
    LabelFiles("node_mapping.txt", "relation_mapping.txt", id_first=False, delimiter=","),
)
"""of the RotatE code, DGL-KE, LibKGE, OpenKE, kbc and Marius"""


@dataclass(frozen=True)
class Labels:
    """The labels that were found, and the files they were read from."""

    entities: Vocabulary | None = None
    relations: Vocabulary | None = None
    files: tuple[Path, ...] = ()


def labels(folder: Path, options: Options) -> Labels:
    """Read the labels in a checkpoint's folder, or in the folder that the option ``labels`` names.

    Raises
    ------
    CheckpointError
        if the option names no folder with labels, or if a file is malformed
    """
    named = options.resolve("labels", None, "")
    place = Path(str(named)) if named is not None else folder
    for kind in LABEL_FILES:
        files = (place / kind.entities, place / kind.relations)
        if all(is_there(file) and file.is_file() for file in files):
            return Labels(_read(files[0], kind, "entity"), _read(files[1], kind, "relation"), files)
    if named is not None:
        known = "; ".join(f"{kind.entities} and {kind.relations}" for kind in LABEL_FILES)
        raise CheckpointError(f"labels={str(named)!r} is no folder with labels in it. Known files: {known}.")
    return Labels()


def _read(path: Path, kind: LabelFiles, what: str) -> Vocabulary:
    try:
        table = pa_csv.read_csv(
            path,
            read_options=pa_csv.ReadOptions(column_names=["0", "1"], skip_rows=int(kind.counted)),
            parse_options=pa_csv.ParseOptions(delimiter=kind.delimiter, quote_char=kind.delimiter == "," and '"'),
            convert_options=pa_csv.ConvertOptions(
                column_types={"0": pa.string(), "1": pa.string()}, strings_can_be_null=False, null_values=[]
            ),
        )
    except (pa.ArrowInvalid, OSError) as error:
        raise CheckpointError(f"{path}: cannot be read as rows of id and label ({error}).") from error
    for ids, names in ((0, 1), (1, 0)) if kind.id_first else ((1, 0), (0, 1)):
        numbers = _numbers(table[str(ids)])
        if numbers is not None:
            return Vocabulary(table[str(names)].take(pa.array(np.argsort(numbers))), what)
    raise CheckpointError(f"{path}: no column holds the ids 0 to {table.num_rows - 1}, each once.")


def _numbers(column: pa.ChunkedArray) -> Any:
    try:
        ids = np.asarray(pc.cast(pc.utf8_trim_whitespace(column), pa.int64()))
    except pa.ArrowInvalid:
        return None
    return ids if np.array_equal(np.sort(ids), np.arange(len(ids))) else None


def folder_of(path: Path) -> Path:
    """Return the folder that a checkpoint is, or lies in."""
    return path if path.is_dir() else path.parent


def one_of(path: Path, groups: Sequence[Callable[[Path], bool]], what: str) -> Path:
    """Find the file that is meant: the path itself, or the only file of the folder in the first group that has any.

    Raises
    ------
    CheckpointError
        if there is none, or more than one, with their names
    """
    if path.is_file():
        return path
    files = sorted(entry for entry in path.iterdir() if entry.is_file())
    for group in groups:
        fitting = [file for file in files if group(file)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            names = ", ".join(file.name for file in fitting)
            raise CheckpointError(f"{str(path)!r} holds several checkpoints: {names}. Give one of the files.")
    raise CheckpointError(f"{str(path)!r} holds no {what}.")


def holds(path: Path, fits: Callable[[Path], bool]) -> bool:
    """Whether a path is a file that fits, or a folder with one."""
    if path.is_file():
        return fits(path)
    return path.is_dir() and any(fits(entry) for entry in path.iterdir() if entry.is_file())
