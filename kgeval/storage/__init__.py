"""Storage: files and folders are written whole or not at all, under a temporary name until then; tables in Parquet."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kgeval.errors import RunError
from kgeval.paths import exists_safely


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, which becomes ``path`` when all went well and vanishes when not."""
    partial = _beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        _sync(partial)
        partial.replace(path)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        with suppress(OSError):
            partial.unlink()


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder to fill, which becomes ``path`` when all went well and vanishes when not."""
    partial, earlier = _beside(path), _beside(path)
    try:
        partial.mkdir(parents=True)
        yield partial
        for file in partial.rglob("*"):
            if file.is_file():
                _sync(file)
        if path.exists():  # no folder that holds something can be replaced in one step
            path.rename(earlier)
        partial.rename(path)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        if earlier.exists() and not path.exists():
            earlier.rename(path)
        for remains in (partial, earlier):
            shutil.rmtree(remains, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def not_written(path: Path, error: OSError) -> RunError:
    """Return the error for a file that cannot be written, which names a file that stands in the place of a folder."""
    above = next((str(part) for part in path.parents if exists_safely(part) and not part.is_dir()), None)
    reason = f"{above!r} is a file, not a folder" if above else error.strerror or error
    return RunError(f"cannot write {str(path)!r}: {reason}. No file was written.")


def _beside(path: Path) -> Path:
    return path.with_name(f".{secrets.token_hex(8)}.partial")


def _sync(path: Path) -> None:
    """Have the system bring a file to the disk."""
    with path.open("rb") as written:
        os.fsync(written.fileno())
