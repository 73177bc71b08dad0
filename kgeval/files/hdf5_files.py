"""HDF5 files: arrays of numbers that are in the file itself, no links to other files. Needs h5py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.errors import FileError, reason
from kgeval.files.budget import LEAST, Budget
from kgeval.files.opening import checked


class Arrays:
    """The arrays of an open HDF5 file."""

    def __init__(self, path: Path, file: Any, budget: Budget) -> None:
        self.path, self._file, self._budget = path, file, budget

    def read(self, name: str) -> np.ndarray[Any, Any]:
        """Read an array by its path in the file.

        Raises
        ------
        FileError
            if it is missing, damaged, no array of numbers, larger than the file can hold, or not in the file
        """
        try:
            array = self._find(name)
            if array.dtype.kind not in "iuf":
                raise FileError(f"{self.path}: {name!r} holds {array.dtype}, no numbers.")
            block = int(np.prod(array.chunks or (), dtype=object)) * array.dtype.itemsize
            self._budget.take(array.nbytes if block <= LEAST else max(array.nbytes, block))
            return np.asarray(array[()])
        except (KeyError, OSError, ValueError, AttributeError, RuntimeError, TypeError) as error:
            raise FileError(f"{self.path}: {name!r} is missing or damaged ({reason(error)}).") from error

    def _find(self, name: str) -> Any:
        """Follow a path; every step of it, and the numbers at its end, must be in this file."""
        import h5py

        node = self._file
        for step in name.split("/"):
            link = node.get(step, getlink=True)
            if link is None:
                raise KeyError(step)
            if not isinstance(link, h5py.HardLink):
                raise FileError(f"{self.path}: {name!r} is a link, perhaps to another file. It was refused.")
            node = node[step]
        if node.is_virtual or node.external:
            raise FileError(f"{self.path}: the numbers of {name!r} are in other files. It was refused.")
        return node


@contextmanager
def open_hdf5(path: Path, *, times: int = 1) -> Iterator[Arrays]:
    """Open an HDF5 file.

    Parameters
    ----------
    path
        the file
    times
        the most bytes that may be read, as a multiple of the size of the file: more than one where it is compressed

    Raises
    ------
    FileError
        if it is missing or damaged, or if h5py is not installed
    """
    try:
        import h5py
    except ImportError as error:
        raise FileError(
            f"{path}: HDF5 files are read with h5py, which is not installed: pip install 'kgeval[pbg]'."
        ) from error
    try:
        checked(path)
        file = h5py.File(path, "r")
    except OSError as error:
        raise FileError(f"{path}: missing, or not a readable HDF5 file ({reason(error)}).") from error
    with file:
        yield Arrays(path, file, Budget(path, times=times, least=0))
