"""Text vectors of KB2E and Fast-TransX: ``entity2vec.bern``, ``relation2vec.bern`` (``.unif``, ``.vec``), rows by id.

Two such files are a TransE, whose distance is L1 or L2 (``L1_flag``): no file says which. The programs for TransH,
TransR and TransD write matrices beside them (``A.bern``, ``A.vec``), which are not read.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import Float64Array
from kgeval.base.errors import CheckpointError
from kgeval.data.text import UNIT_SEPARATOR, line_of, read_columns
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.reader import Reader
from kgeval.models.checkpoints.shared.locate import contains_file, find_checkpoint_file, find_labels, folder_of
from kgeval.models.families.translations import TransE


def read_vectors(path: Path) -> Float64Array:
    """Read rows of numbers, between tabs or spaces; float64[row, width]."""
    return _numbers(path, pc.ascii_split_whitespace(_rows(path, 0)), 0)


def read_labelled_vectors(path: Path, width: int, *, skip: int) -> tuple[list[str], Float64Array]:
    """Read rows of a label, which may hold spaces, and so many numbers; labels, and float64[row, width]."""
    cells = pc.ascii_split_whitespace(_rows(path, skip), max_splits=width, reverse=True)
    labels = pc.list_element(cells, 0).to_pylist()
    return labels, _numbers(path, pc.list_slice(cells, 1), skip, width)


def _rows(path: Path, skip: int) -> pa.Array:
    """Read the lines after those that are skipped, without white space around them; string[row]."""
    table = read_columns(path, ["row"], skip=skip, delimiter=UNIT_SEPARATOR)
    rows = pc.ascii_trim_whitespace(table["row"]).combine_chunks()
    if not len(rows):
        raise CheckpointError(f"{path}: holds no vectors.")
    return rows


def _numbers(path: Path, cells: pa.ListArray, skip: int, width: int | None = None) -> Float64Array:
    """Convert cells of text to numbers, by default as many a row as the first has; float64[row, width]."""
    lengths = np.asarray(pc.list_value_length(cells))
    width = int(lengths[0]) if width is None else width
    if (lengths != width).any():
        row = int(np.argmax(lengths != width))
        raise CheckpointError(
            f"{path}, line {line_of(path, row, skip, delimiter=UNIT_SEPARATOR)}: {lengths[row]} numbers, where {width} "
            "are expected. The file may be cut short."
        )
    try:
        return np.asarray(pc.cast(cells.flatten(), pa.float64())).reshape(len(cells), width)
    except pa.ArrowInvalid as error:
        raise CheckpointError(f"{path}: a cell is not a number ({str(error)[:80]}).") from error


ENTITY, RELATION, MATRICES = "entity2vec", "relation2vec", "A"
"""what the names of its files begin with"""

SUFFIXES = {".bern", ".unif", ".vec", ".txt"}


def read(path: Path, options: Options) -> Checkpoint:
    """Read a TransE; the option L1_flag says whether its distance is L1, as in the programs."""
    table = find_checkpoint_file(path, [lambda file: _fits(file) and file.name.startswith(ENTITY)], f"file {ENTITY}.…")
    files = [_sibling(table, name) for name in (ENTITY, RELATION)]
    if (matrices := _sibling(table, MATRICES)).is_file():
        raise CheckpointError(
            f"{matrices}: it holds the matrices of a TransH, TransR or TransD, which kgeval does not read as text. In "
            "Python, kgeval.evaluate(function, dataset) takes any function of ids."
        )
    options.resolve("model", "TransE", files[0].name)
    norm = 1 if options.require("L1_flag", None, files[0].name, [True, False]) else 2
    family = TransE(read_vectors(files[0]), read_vectors(files[1]), norm)  # type: ignore[arg-type]
    options.record_origins(family, "KB2E", norm="L1_flag")
    found = find_labels(folder_of(path), options)
    return found.checkpoint(family, "transx", files, options, numbering="files", layouts=("openke",))


def _sibling(file: Path, name: str) -> Path:
    """Return the file of another name that was written with this one: ``entity2vec.bern`` has ``relation2vec.bern``."""
    own = next(prefix for prefix in (ENTITY, RELATION) if file.name.startswith(prefix))
    return file.with_name(name + file.name.removeprefix(own))


def _fits(file: Path) -> bool:
    """Whether a file holds one of the two tables, and the other lies beside it."""
    named = file.suffix in SUFFIXES and file.name.startswith((ENTITY, RELATION))
    return named and all(_sibling(file, name).is_file() for name in (ENTITY, RELATION))


READER = Reader(
    name="transx",
    summary="text vectors of KB2E or Fast-TransX: entity2vec and relation2vec (.bern, .unif, .vec), and their id files",
    recognises=lambda path: contains_file(path, _fits),
    read=read,
    known_by=(frozenset({"entity2vec.bern", "relation2vec.bern"}), frozenset({"entity2vec.vec", "relation2vec.vec"})),
)
