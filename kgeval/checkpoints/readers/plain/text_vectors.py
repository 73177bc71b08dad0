"""Vectors as text: a row of numbers each, perhaps after a label."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.arrays import Float64Array
from kgeval.data.io.id_files import UNIT_SEPARATOR
from kgeval.data.io.text import line_of, read_columns
from kgeval.errors import CheckpointError, InputError


def read_vectors(path: Path) -> Float64Array:
    """Read rows of numbers, between tabs or spaces; float64[row, width].

    Raises
    ------
    CheckpointError
        if there is no row; with the line that is shorter or longer than the first, or holds what is no number
    """
    return _numbers(path, pc.ascii_split_whitespace(_rows(path, 0)), 0)


def read_labelled_vectors(path: Path, width: int, *, skip: int) -> tuple[list[str], Float64Array]:
    """Read rows of a label, which may hold spaces, and so many numbers; labels, and float64[row, width].

    Raises
    ------
    CheckpointError
        as :func:`read_vectors` does
    """
    cells = pc.ascii_split_whitespace(_rows(path, skip), max_splits=width, reverse=True)
    labels = pc.list_element(cells, 0).to_pylist()
    return labels, _numbers(path, pc.list_slice(cells, 1), skip, width)


def _rows(path: Path, skip: int) -> pa.Array:
    """Read the lines after those that are skipped, without white space around them; string[row]."""
    try:
        table = read_columns(path, ["row"], skip=skip, delimiter=UNIT_SEPARATOR)
    except InputError as error:
        raise CheckpointError(str(error)) from error
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
        raise CheckpointError(f"{path}: holds what is no number ({str(error)[:80]}).") from error
