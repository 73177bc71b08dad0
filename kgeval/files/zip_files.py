"""Zip archives with a bound on the list of contents, of which Python makes an object per entry."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgeval.errors import FileError

MAX_CONTENTS = 2**21
"""the most bytes of an archive's list of contents: about 20,000 tensors"""


class _ShortReads(io.BufferedReader):
    """A file with a bound on the length of a read, which applies while it is opened as an archive."""

    longest: int | None = MAX_CONTENTS

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
