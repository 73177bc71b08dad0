"""Tables in files of their own, ``.npy`` or ``.safetensors``, mapped from disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.shared.locate import folder_of
from kgeval.checkpoints.shared.safetensors_file import read_safetensors
from kgeval.errors import CheckpointError, FileError, UsageError, reason
from kgeval.files.opening import checked

NUMPY, SAFE = ".npy", ".safetensors"

OF_QUERIES = ("query", "head_query", "tail_scores", "head_scores")
"""the tables whose rows are queries, not entities or relations"""


def table_file(folder: Path, name: str) -> Path | None:
    """Find the file of a table in a folder; None where there is none.

    Raises
    ------
    CheckpointError
        if there are two
    """
    files = [file for file in (folder / f"{name}{suffix}" for suffix in (NUMPY, SAFE)) if file.is_file()]
    if len(files) > 1:
        raise CheckpointError(f"{folder}: found both {files[0].name} and {files[1].name}. Leave one of them.")
    return files[0] if files else None


def has_table(folder: Path, *names: str) -> bool:
    """Whether a folder has one of some tables."""
    return any((folder / f"{name}{suffix}").is_file() for name in names for suffix in (NUMPY, SAFE))


def folder_of_tables(path: Path, *names: str) -> Path:
    """Return the folder of some tables: the path, or the folder around it if it is one of the tables.

    Raises
    ------
    UsageError
        if it is a file of another name
    """
    if path.is_file() and not (path.stem in names and path.suffix in (NUMPY, SAFE)):
        known = " or ".join(f"{name}{NUMPY}" for name in names)
        raise UsageError(f"{path}: its name does not tell what it is. Call it {known}, or give the folder of these.")
    return folder_of(path)


def is_table(path: Path, *names: str) -> bool:
    """Whether a path is one of some tables, a ``.npy``, or a folder that has one."""
    return has_table(path, *names) if path.is_dir() else path.stem in names and path.suffix == NUMPY


def mapped_array(file: Path) -> FloatArray:
    """Map an array from disk; of a ``.npy`` only the header is read.

    Raises
    ------
    CheckpointError
        if it is damaged, or no table of floating-point numbers
    """
    array = _only_tensor(file) if file.suffix == SAFE else _mapped(file)
    if array.ndim != 2 or array.dtype.kind != "f":
        raise CheckpointError(f"{file}: expected a table of floating-point numbers, found {array.dtype} {array.shape}.")
    return array


def _mapped(file: Path) -> FloatArray:
    try:
        checked(file)
        array: FloatArray = np.lib.format.open_memmap(file, mode="r")
    except FileError:
        raise
    except Exception as error:  # numpy has many ways of refusing a damaged file
        raise CheckpointError(f"{file}: not a readable array, or cut short ({reason(error)}).") from error
    return array


def _only_tensor(file: Path) -> FloatArray:
    arrays = read_safetensors(file).arrays
    if len(arrays) != 1:
        raise CheckpointError(f"{file}: expected one tensor, found {', '.join(sorted(arrays)) or 'none'}.")
    return next(iter(arrays.values()))
