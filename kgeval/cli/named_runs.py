"""The runs of a command line, each PATH or NAME=PATH, and the file that is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kgeval.errors import ConfigError, InputError
from kgeval.paths import exists_safely


def named_runs(words: Sequence[str]) -> list[tuple[str, str]]:
    """Split the words of a command line into names, empty where there is none, and paths.

    >>> named_runs(["runs/a", "best=runs/b"])
    [('', 'runs/a'), ('best', 'runs/b')]
    """
    return [_named(word) for word in words]


def _named(word: str) -> tuple[str, str]:
    name, equals, path = word.partition("=")
    if word and (not equals or exists_safely(Path(word))):
        return "", word
    if not name or not path:
        raise ConfigError(f"{word!r}: expected PATH or NAME=PATH.")
    return name, path


def refuse_file(path: Path, *, force: bool) -> None:
    """Refuse to replace a file."""
    if exists_safely(path) and not force:
        raise InputError(f"{str(path)!r} already exists. Choose another name, or add --force.")


def show_file(path: Path, *, as_json: bool) -> None:
    """Say where a file was written."""
    from kgeval.cli.display import show_place
    from kgeval.cli.streams import say_json

    if as_json:
        say_json({"path": str(path), "bytes": path.stat().st_size})
    else:
        show_place(path)
