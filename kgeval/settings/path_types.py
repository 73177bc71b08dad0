"""Types of paths in configurations, and how a block takes a bare string."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from kgeval.errors import InputError, NoPathError
from kgeval.paths import exists_safely, no_file
from kgeval.settings.messages import short_repr


@contextmanager
def as_validation_error() -> Iterator[None]:
    """Turn an InputError into a ValueError, which pydantic collects with the errors of all other values."""
    try:
        yield
    except InputError as error:
        raise ValueError(str(error)) from error


def writable(path: str) -> str:
    """Refuse a path that cannot be written to a configuration or a manifest."""
    if not path:
        raise ValueError("the path is empty. Name a file or a folder; '.' is the current one")
    if "\0" in path:
        raise ValueError("a path has no null byte")
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the path {short_repr(path)} is not UTF-8 text. Give it another name") from error
    return path


def existing(path: str) -> str:
    if not (exists_safely(Path(path)) and Path(path).is_file()):
        raise NoPathError(no_file(Path(path)))
    return path


PathText = Annotated[str, AfterValidator(writable)]

ExistingFile = Annotated[PathText, AfterValidator(existing)]


def or_text(schema: dict[str, Any]) -> None:
    """Allow a bare string in the JSON schema of a block, as the block's validator does."""
    block = dict(schema)
    schema.clear()
    schema["anyOf"] = [{"type": "string"}, block]
