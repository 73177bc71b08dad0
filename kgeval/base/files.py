"""Untrusted files: they are read within bounds of memory and steps; pipes, devices and files that change are refused.

Every reader opens files through :func:`read_bytes`, :func:`read_json` or, if a library opens them, after
:func:`checked`; a ``Budget`` limits the bytes that may be decoded from a file. Further helpers are for paths that may
be wrong (:func:`exists_safely`, :func:`no_file`), and for files that must not change during a run (``ReadFiles``).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from contextlib import AbstractContextManager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from kgeval.base.contexts import holding
from kgeval.base.errors import FileError, RunError, nearest

MAX_SETTINGS = 2**21
"""the most bytes of a file of settings"""

READ, JSON = 2, 10
"""bytes of memory for each byte of a file: of any file while it is read, of JSON as Python objects"""

SPECIAL = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
"""a file type of ``stat`` -> its name in messages"""

SYSTEM = (Path("/proc"), Path("/sys"))
"""folders of the system, whose files may have no end"""

POINTER, MAX_POINTER = b"version https://git-lfs.github.com/spec/v1\n", 1024
"""the first line, and the most bytes, of a Git LFS pointer, the text in place of a file that was not fetched"""


def read_bytes(path: Path) -> bytes:
    """Read a file whole, if it fits into memory."""
    size = checked(path, times=READ)
    with path.open("rb") as file:
        return file.read(size)


def read_settings(path: Path) -> str:
    """Read a file of settings as text."""
    if checked(path) > MAX_SETTINGS:
        raise FileError(f"{path}: it has {path.stat().st_size} bytes; settings have at most {MAX_SETTINGS}.")
    return read_bytes(path).decode("utf-8")


def read_json(path: Path, *, strict: bool = False) -> Any:
    """Read a JSON file; ``strict`` refuses NaN and Infinity, which Python writes but which are no JSON."""
    checked(path, times=JSON)
    try:
        text = read_bytes(path).decode("utf-8")
        return json.loads(text, parse_constant=_refuse_constant) if strict else json.loads(text)
    except MemoryError as error:  # lists of empty lists take more
        raise FileError(f"{path}: its content does not fit into memory.") from error


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def beginning_of(path: Path, size: int) -> bytes:
    """Read the first bytes of a file, by which its kind is recognised."""
    with path.open("rb") as file:
        return file.read(size)


def sha256_of_file(path: Path) -> str:
    """Hash a file, a part at a time."""
    checked(path)
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def checked(path: Path, *, times: int = 0) -> int:
    """Return the size of a file in bytes; refuse a special file, or one with ``times`` its size above the free memory.

    A file that is memory-mapped needs no memory: ``times`` is 0.
    """
    refuse_special(path)
    size = path.stat().st_size
    if times and times * size > (free := free_memory()):
        raise FileError(f"{path}: reading its {size} bytes takes {times} times that memory, but {free} bytes are free.")
    return size


def refuse_remote(path: Path) -> None:
    """Refuse a URL, which is no path, whether it is read or written."""
    if re.fullmatch(r"[a-z][a-z0-9+.-]+:", path.parts[0] if path.parts else "", re.IGNORECASE):
        raise FileError(f"{path}: remote paths are not supported. Give a path of this machine.")


def refuse_special(path: Path) -> None:
    """Refuse a URL, a pipe, a socket, a device, a file of the system or a Git LFS pointer; accept a missing file.

    Within :func:`noting_openings`, the state of the file is recorded.
    """
    refuse_remote(path)
    try:
        status, place = path.stat(), path.resolve()
    except (OSError, ValueError, RuntimeError):
        return
    if (opened := _OPENED.get()) is not None:
        opened[path.absolute()] = _state(status)
    kind = special(path)
    if not kind and any(place.is_relative_to(system) for system in SYSTEM):
        kind = "a part of the system"
    if kind:
        raise FileError(f"{path}: it is {kind}, not a file. Copy its content to a file, and give that.")
    if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_POINTER and _begins_with(path, POINTER):
        raise FileError(f"{path}: it is a pointer of Git LFS, not the file itself. Fetch the file: git lfs pull.")


def _begins_with(path: Path, beginning: bytes) -> bool:
    with suppress(OSError):  # the error is raised where the file is opened
        return beginning_of(path, len(beginning)) == beginning
    return False


def special(path: Path) -> str:
    """Name a path that is a pipe, a socket or a device; empty for a file, a folder or a missing path."""
    with suppress(OSError, ValueError, RuntimeError):
        return SPECIAL.get(stat.S_IFMT(path.stat().st_mode), "")
    return ""


LEAST = 64 * 2**20
"""bytes that may be decoded from any file, however small"""

STEPS, LEAST_STEPS, MOST_STEPS = 4, 10_000, 2**25
"""the most instructions of a pickle: for each byte of the file; for any small file; in all (about a minute)"""

STEP = 256
"""bytes of memory that a single instruction may take"""


class Budget:
    """The bytes and the steps (instructions of a pickle) that are left for decoding a file.

    ``times`` bytes may be decoded for each byte of the file, but at least ``least``. ``steps`` are given, or follow
    from the size of the file.
    """

    def __init__(self, path: Path, *, times: int, least: int = LEAST, steps: int | None = None) -> None:
        self._path, self._size = path, path.stat().st_size
        free = free_memory()
        self._most = min(max(least, times * self._size), free)
        self._left = self._most
        self._steps = steps or min(max(LEAST_STEPS, STEPS * self._size), MOST_STEPS, free // STEP)

    def take(self, count: int) -> None:
        """Account for bytes before they are decoded."""
        self._left -= count
        if self._left < 0:
            raise FileError(f"{self._path}: it unpacks to more than {self._most} bytes, too many for its size.")

    def step(self) -> None:
        """Account for an instruction before it is executed."""
        self._steps -= 1
        if self._steps < 0:
            raise FileError(f"{self._path}: it takes too many steps to read for a file of {self._size} bytes.")


def free_memory() -> int:
    """Return the bytes of memory that are free."""
    import psutil

    return int(psutil.virtual_memory().available)


def exists_safely(path: Path) -> bool:
    """Whether there is a file or a folder; no path raises, however odd."""
    with suppress(OSError, ValueError):
        return path.is_file() or path.is_dir()
    return False


def is_plain_name(name: object) -> bool:
    """Whether a text is the name of one file or folder, which leads nowhere else.

    >>> is_plain_name("ranks.parquet"), is_plain_name("../secret"), is_plain_name("/etc"), is_plain_name("..")
    (True, False, False, False)
    """
    return (
        isinstance(name, str)
        and name not in {"", ".", ".."}
        and not set(name) & set("/\\")
        and name.isprintable()
        and len(name.encode(errors="replace")) <= 255  # bytes that file systems allow
    )


def no_file(path: Path) -> str:
    """Return the message for a path that is not a file."""
    if exists_safely(path) and path.is_dir():
        return f"{str(path)!r} is a folder; a file is expected."
    return f"no such file {str(path)!r}. {suggest_paths(path)}".strip()


def suggest_paths(path: Path) -> str:
    """Name existing paths that are similar to a wrong one."""
    near = {}
    with suppress(OSError, ValueError):
        near = {it.name: it for it in path.parent.iterdir() if not it.name.startswith(".") and it.name != path.name}
    names = nearest(path.name, near)
    return f"Nearby: {', '.join(repr(str(near[name])) for name in names)}." if names else ""


State = tuple[int, ...]
"""inode, size and time of change: a file whose content changes gets another state"""

_OPENED: ContextVar[dict[Path, State] | None] = ContextVar("opened", default=None)
"""the state of each file when it was last opened"""


def noting_openings() -> AbstractContextManager[None]:
    """Record the state of every file that is opened in the block, so that its digest is of the content read."""
    return holding(_OPENED, {})


class ReadFiles:
    """The SHA-256 of files that were read, which are refused if they changed meanwhile."""

    def __init__(self) -> None:
        self._digests: dict[tuple[Path, State], str] = {}

    def sha256(self, path: Path) -> tuple[str, State]:
        """Hash a file that has just been read, and return its state too."""
        opened, now = (_OPENED.get() or {}).get(path.absolute()), _state(path.stat())
        digest = self._digests.get((path, now)) or sha256_of_file(path)
        if _state(path.stat()) != now or opened not in {None, now}:
            raise FileError(f"{path}: it changed while it was read. Evaluate it again, or a copy of it.")
        self._digests[path, now] = digest
        return digest, now

    @staticmethod
    def refuse_changed(path: Path, state: State) -> None:
        """Refuse a file that was overwritten in place (it may be mapped), or replaced and then read again.

        If it was replaced and not read again, the content that was read is the one that was hashed.
        """
        opened = (_OPENED.get() or {}).get(path.absolute(), state)
        now = _state(path.stat()) if path.exists() else state
        if opened != state or (now != state and now[0] == state[0]):
            raise RunError(f"{path}: it changed while it was evaluated. Evaluate it again, or a copy of it.")


def _state(status: os.stat_result) -> State:
    return status.st_ino, status.st_size, status.st_mtime_ns
