"""Zip archives, whose list of contents is read only where it is short: Python makes an object of every entry."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgeval.errors import FileError

LONGEST_LIST = 2**21
"""bytes that the list of an archive's contents may have: about 20,000 tensors"""


class _ShortReads(io.BufferedReader):
    """A file that is read in pieces of a bounded length while it is opened as an archive."""

    longest: int | None = LONGEST_LIST

    def read(self, size: int | None = -1, /) -> bytes:
        """Read some bytes; ``zipfile`` reads the list of contents as one piece."""
        if self.longest is not None and size is not None and size > self.longest:
            raise FileError(f"{self.name}: its list of contents has {size} bytes, as that of no model. It was refused.")
        return super().read(size)


@contextmanager
def open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive to read it.

    Raises
    ------
    FileError
        if the list of its contents is too long
    BadZipFile, OSError
        if it is missing or damaged
    """
    with _ShortReads(io.FileIO(path)) as file, zipfile.ZipFile(file) as archive:
        file.longest = None
        yield archive
