"""Which format a checkpoint is in, by its files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kgeval.checkpoints.reader import NAMED_BY_USER, Reader, formats
from kgeval.checkpoints.unknown_checkpoint import describe_unknown, files_of, is_pickled
from kgeval.errors import UsageError


def recognise(path: Path, options: Iterable[str] = ()) -> Reader:
    """Find the reader of a checkpoint from its files.

    Parameters
    ----------
    path
        a file or a folder
    options
        the names of the user's options: those that name tensors make a format of a state dictionary of one's own

    Raises
    ------
    UsageError
        if none, or more than one, recognises it
    PickleError
        if it is a damaged pickle, or one that is refused: then the format is not what is wrong with it
    """
    fitting = [reader for reader in formats().values() if reader.recognises(path)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = " and ".join(reader.name for reader in fitting)
        raise UsageError(f"{str(path)!r} could be {names}: name the format.")
    if {"entity", "relation"} <= {*options} and any(map(is_pickled, files_of(path))):
        return formats()[NAMED_BY_USER]
    raise UsageError(describe_unknown(path, options))
