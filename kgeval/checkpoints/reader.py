"""Readers: what it takes to read a framework's checkpoint; each file in ``readers`` declares one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kgeval.checkpoints.checkpoint import Checkpoint, Options
from kgeval.discovery import brought, by_name, instances
from kgeval.errors import UsageError

PICKLED = {".pkl", ".pt", ".pth", ".ckpt", ".model"}
"""the endings of files that ``torch.save`` or ``pickle`` wrote"""


@dataclass(frozen=True)
class Reader:
    """One way of storing a model."""

    name: str
    summary: str
    recognises: Callable[[Path], bool]
    """whether a file or folder is in this format; cheap, and never by guessing"""
    read: Callable[[Path, Options], Checkpoint]
    known_by: tuple[frozenset[str], ...] = ()
    """groups of tensors (of a file) or files (of a folder), each enough to know the format by"""


@cache
def formats() -> dict[str, Reader]:
    """All readers, by name; those of other packages too."""
    return by_name(
        "formats", [*instances("kgeval.checkpoints.readers", Reader), *brought("kgeval.checkpoints", Reader)]
    )


def recognise(path: Path) -> Reader:
    """Find the reader of a checkpoint from its files.

    Raises
    ------
    UsageError
        if none, or more than one, recognises it
    """
    fitting = [reader for reader in formats().values() if reader.recognises(path)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = " and ".join(reader.name for reader in fitting)
        raise UsageError(f"{str(path)!r} could be {names}: name the format.")
    from kgeval.checkpoints.unknown_checkpoint import unknown  # it tells of readers

    raise UsageError(unknown(path, formats()))
