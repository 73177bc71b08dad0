"""Opening of untrusted files: regular files only, and none that is larger than the free memory."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from kgeval.errors import FileError
from kgeval.files.budget import free_memory

SPECIAL = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

SYSTEM = (Path("/proc"), Path("/sys"))
"""what lies here looks like files, but is the system itself: it may have no end"""

SPARSE = 2**30
"""bytes from which on a file is looked at for holes"""

CONFIGURATION = 2**21
"""bytes that a file of settings may have"""

READ = 2
"""how many bytes of memory each byte of a file takes that is read"""

JSON = 10
"""how many it takes as labels and numbers of Python, at most"""


def refuse_special(path: Path) -> None:
    """Refuse a path that leads to a pipe, a socket, a device or the system itself; what is not there passes.

    Raises
    ------
    FileError
        with what it is

    Examples
    --------
    >>> refuse_special(Path("/dev/null"))
    Traceback (most recent call last):
    kgeval.errors.FileError: /dev/null: it is a device, no file of data. Copy what it gives into a file.
    """
    try:
        mode, place = path.stat().st_mode, path.resolve()
    except (OSError, ValueError, RuntimeError):
        return
    what = SPECIAL.get(stat.S_IFMT(mode), "")
    if not what and any(place.is_relative_to(system) for system in SYSTEM):
        what = "a part of the system"
    if what:
        raise FileError(f"{path}: it is {what}, no file of data. Copy what it gives into a file.")


def checked(path: Path, *, times: int = 0) -> int:
    """Return the size of a file that may be opened, in bytes.

    Parameters
    ----------
    path
        the file
    times
        how many bytes of memory are needed for each of its bytes; none where it is mapped

    Raises
    ------
    FileError
        if it is no file of data, was mostly never written, or is larger than the memory that is free
    OSError
        if it is not there
    """
    refuse_special(path)
    size = path.stat().st_size
    if size >= SPARSE and _written(path, size) < size // 2:
        raise FileError(f"{path}: of its {size} bytes most were never written. It was refused.")
    if times and times * size > free_memory():
        raise FileError(
            f"{path}: it has {size} bytes, which take {times} times that to read; {free_memory()} bytes of memory are "
            "free."
        )
    return size


def read_bytes(path: Path) -> bytes:
    """Read a file.

    Raises
    ------
    FileError, OSError
        as :func:`checked` does
    """
    size = checked(path, times=READ)
    with path.open("rb") as file:
        return file.read(size)


def read_settings(path: Path) -> str:
    """Read a text of settings, which people or frameworks write.

    Raises
    ------
    FileError, OSError
        as :func:`checked` does, and if it is too large to be one
    ValueError
        if it is no UTF-8 text
    """
    if checked(path) > CONFIGURATION:
        raise FileError(f"{path}: it has {path.stat().st_size} bytes; settings have at most {CONFIGURATION}.")
    return read_bytes(path).decode("utf-8")


def read_json(path: Path, *, strict: bool = False) -> Any:
    """Read a JSON file; a strict reader refuses NaN and Infinity, which Python writes but which are no JSON.

    Raises
    ------
    FileError, OSError
        as :func:`checked` does
    ValueError, RecursionError
        if it is none
    """
    checked(path, times=JSON)
    try:
        text = read_bytes(path).decode("utf-8")
        return json.loads(text, parse_constant=_refuse_constant) if strict else json.loads(text)
    except MemoryError as error:  # lists of empty lists take more
        raise FileError(f"{path}: the memory has no room for what is in it.") from error


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _written(path: Path, size: int) -> int:
    """Count the bytes of a file that were written, up to half of them."""
    if not hasattr(os, "SEEK_DATA"):
        return size
    with path.open("rb") as file:
        end = written = 0
        while end < size and written < size // 2:
            try:
                start = os.lseek(file.fileno(), end, os.SEEK_DATA)
                end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            except OSError:  # nothing but a hole is left
                break
            written += end - start
    return written
