"""Storage: files and folders are written whole or not at all, under a temporary name until then.

All that kgeval writes is written within :func:`replacing` or :func:`replacing_folder`, or by :func:`write_text`.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from kgeval.base.errors import InputError, RunError
from kgeval.base.files import exists_safely, refuse_remote, special

PARTIAL = f".{'[0-9a-f]' * 16}.partial"
"""the glob pattern of the hidden folders beside a target, in which it is written first"""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, which becomes ``path`` when all went well and vanishes when not."""
    with _replaced(path) as (partial, place):
        yield partial
        _sync(partial)
        partial.replace(place)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder to fill, which becomes ``path`` when all went well and vanishes when not."""
    with _replaced(path) as (partial, place):
        earlier = partial.with_name("earlier")
        partial.mkdir()
        yield partial
        for file in partial.rglob("*"):
            if file.is_file():
                _sync(file)
        try:
            if place.exists():  # no folder that holds something can be replaced in one step
                place.rename(earlier)
            partial.rename(place)
        finally:
            if earlier.exists() and not place.exists():
                earlier.rename(place)


def write_text(path: Path, text: str) -> None:
    """Write a text file."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def refuse_to_replace_special(path: Path) -> None:
    """Refuse to replace a device, a pipe or a socket, which others use by its name."""
    refuse_remote(path)
    if kind := special(path):
        raise InputError(f"{str(path)!r} is {kind}, which no file may replace. Choose another name.")


@contextmanager
def _replaced(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield a path in a temporary folder, and the path that it becomes: for a link, its target."""
    refuse_to_replace_special(path)
    place = Path(os.path.realpath(path))
    folder = place.with_name(f".{secrets.token_hex(8)}.partial")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        for left in place.parent.glob(PARTIAL):
            with suppress(OSError, ImportError), _held(left):
                shutil.rmtree(left)
        with ExitStack() as held:
            new = folder.with_suffix(".new")  # no other process removes it before it is held
            new.mkdir()
            with suppress(OSError, ImportError):
                held.enter_context(_held(new))
            new.rename(folder)
            yield folder / "new", place
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Lock a folder, so that no process removes it as one that a killed process left; raise if another locked it."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def not_written(path: Path, error: OSError) -> RunError:
    """Return the error for a file that cannot be written, which names a file that stands in the place of a folder."""
    above = next((str(part) for part in path.parents if exists_safely(part) and not part.is_dir()), None)
    reason = f"{above!r} is a file, not a folder" if above else error.strerror or error
    return RunError(f"cannot write {str(path)!r}: {reason}. No file was written.")


def _sync(path: Path) -> None:
    """Flush a file to the disk."""
    with path.open("rb") as written:
        os.fsync(written.fileno())
