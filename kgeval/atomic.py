"""Write files that are either whole or not there: under a temporary name, then renamed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kgeval.errors import RunError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, which becomes ``path`` when all went well and vanishes when not.

    Raises
    ------
    RunError
        if the file cannot be written, for instance because the disk is full
    """
    partial = path.with_name(f".{secrets.token_hex(8)}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.replace(path)
    except OSError as error:
        raise RunError(
            f"cannot write {str(path)!r}: {error.strerror or error}. Nothing was left under that name."
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a whole text file, or nothing."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
