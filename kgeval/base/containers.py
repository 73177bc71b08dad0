"""Zip, Parquet and HDF5 files, read within bounds: a few bytes may decode to very many.

Tables and datasets are read with :func:`read_parquet`, checkpoints with :func:`open_zip` and :func:`open_hdf5`.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kgeval.base.errors import FileError, reason
from kgeval.base.extras import refuse_missing
from kgeval.base.files import LEAST, Budget, checked

MAX_EXPANSION = 100
"""the most bytes in memory, as a multiple of the size of the file"""

ROWS, CODED_ROWS = 2**14, 2**20
"""the most rows to decode at a time; more with dictionary-encoded columns, as each batch repeats the dictionary"""


def read_parquet(path: Path) -> pa.Table:
    """Read the columns of text and numbers; nested and fixed-size binary columns are left out."""
    checked(path)
    # Not read_table, which makes a column of a folder named key=value, and fails for repeated column names.
    with pq.ParquetFile(path) as file:
        metadata, schema = file.metadata, file.schema_arrow
        groups = (metadata.row_group(group) for group in range(metadata.num_row_groups))
        Budget(path, times=MAX_EXPANSION).take(sum(group.total_byte_size for group in groups))
        flat = [f for f in schema if not pa.types.is_nested(f.type) and not pa.types.is_fixed_size_binary(f.type)]
        coded = any(pa.types.is_dictionary(field.type) for field in flat)
        rows = min(CODED_ROWS if coded else ROWS, max(1, LEAST // max(1, _longest(path, flat))))
        budget, pieces = Budget(path, times=MAX_EXPANSION), []
        columns = None if len(flat) == len(schema) else [field.name for field in flat]
        for piece in file.iter_batches(rows, columns=columns, use_threads=False):
            budget.take(sum(map(_decoded_size, piece.columns)))
            pieces.append(piece)
    table = pa.Table.from_batches(pieces, None if pieces else pa.schema(flat))
    # Metadata that a writer adds after the last row are in the file's metadata, not in its schema's.
    of_file = {key: value for key, value in (metadata.metadata or {}).items() if key != b"ARROW:schema"}
    return table.replace_schema_metadata(of_file)


def _decoded_size(column: pa.Array) -> int:
    """Return the bytes of a column as if each row had its own text, not a code of the dictionary."""
    if not pa.types.is_dictionary(column.type) or pa.types.is_primitive(column.type.value_type):
        return int(column.nbytes)
    return pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0


def _longest(path: Path, fields: list[Any]) -> int:
    """Return the bytes of the longest text in the dictionaries of a file, 0 if there is none."""
    texts = [field.name for field in fields if not pa.types.is_primitive(field.type)]
    longest = 0
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for group in range(file.metadata.num_row_groups if texts else 0):
            first = next(file.iter_batches(1, row_groups=[group], columns=texts, use_threads=False), None)
            for column in first.columns if first is not None else ():
                if pa.types.is_dictionary(column.type) and not pa.types.is_primitive(column.type.value_type):
                    longest = max(longest, pc.max(pc.binary_length(column.dictionary)).as_py() or 0)
    return longest


@contextmanager
def open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive; refuse it if its list of contents is longer than ``MAX_CONTENTS``."""
    with _ShortReads(io.FileIO(path)) as file, zipfile.ZipFile(file) as archive:
        file.longest = None
        yield archive


MAX_CONTENTS = 2**21
"""the most bytes of an archive's list of contents: about 20,000 tensors"""


class _ShortReads(io.BufferedReader):
    """A file with a bound on the length of a read, which applies while it is opened as an archive."""

    longest: int | None = MAX_CONTENTS

    def read(self, size: int | None = -1, /) -> bytes:
        """Read some bytes; ``zipfile`` reads the list of contents as one piece."""
        if self.longest is not None and size is not None and size > self.longest:
            raise FileError(f"{self.name}: its list of contents has {size} bytes, more than a model needs.")
        return super().read(size)


@contextmanager
def open_hdf5(path: Path, *, times: int = 1) -> Iterator[Arrays]:
    """Open an HDF5 file; at most ``times`` its size may be read from it, more than 1 if it is compressed."""
    refuse_missing(f"{path}: an HDF5 file needs", "h5py")
    import h5py

    try:
        checked(path)
        file = h5py.File(path, "r")
    except OSError as error:
        raise FileError(f"{path}: missing, or not a readable HDF5 file ({reason(error)}).") from error
    with file:
        yield Arrays(path, file, Budget(path, times=times, least=0))


class Arrays:
    """The arrays of an open HDF5 file."""

    def __init__(self, path: Path, file: Any, budget: Budget) -> None:
        self.path, self._file, self._budget = path, file, budget

    def read(self, name: str) -> np.ndarray[Any, Any]:
        """Read an array by its path in the file."""
        try:
            array = self._find(name)
            if array.dtype.kind not in "iuf":
                raise FileError(f"{self.path}: {name!r} holds {array.dtype}; expected numbers.")
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
