"""Which format a checkpoint is in; and of a path in none, what it holds, the nearest format, and a way out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.checkpoints.reader import PICKLED, Reader, formats
from kgeval.checkpoints.shared.tensors import unwrap_state_dict
from kgeval.errors import UsageError
from kgeval.pickles.pickled import read_any
from kgeval.pickles.unpickle import StubObject

SHOWN = 6
"""tensors, files or folders that are named"""


def recognise(path: Path) -> Reader:
    """Find the reader of a checkpoint from its files.

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
    raise UsageError(_describe_unknown(path))


def holds_models(path: Path) -> bool:
    """Whether a path is a pickled file, or a folder that holds such, or folders that are checkpoints."""
    files = path.iterdir() if path.is_dir() else [path]
    return any(file.suffix in PICKLED for file in files) or bool(_checkpoints_in(path))


def _describe_unknown(path: Path) -> str:
    """Describe what a path in no known format holds and how that can be used, a sentence a line."""
    inside = _checkpoints_in(path)
    if inside:
        what = "1 folder that is a checkpoint" if len(inside) == 1 else f"{len(inside)} folders that are checkpoints"
        return f"{str(path)!r} holds {what}: {_some(inside)}. Give one of them."
    lines = [f"{str(path)!r} is in no known checkpoint format."]
    files = sorted(entry.name for entry in path.iterdir()) if path.is_dir() else [path.name]
    pickled = [path / name if path.is_dir() else path for name in files if Path(name).suffix in PICKLED]
    content = unwrap_state_dict(read_any(pickled[0])) if pickled else None
    arrays = _arrays(content)
    if path.is_dir():
        lines.append(f"It is a folder with {_some(files)}." if files else "It is an empty folder.")
    if pickled:
        tensors = _some(f"{name} {list(shape)}" for name, shape in arrays.items())
        lines.append(f"{pickled[0].name} is {_kind(content)}{f' with {tensors}' if arrays else ''}.")
    lines += _nearest(arrays or files)
    if len(arrays) > 1:
        lines.append(
            "To use such arrays, save them as an .npz file with the names entity and relation, and give the option "
            "model (kgeval list models)."
        )
    return "\n".join([*lines, "Known formats:", *(f"  {name}: {reader.summary}" for name, reader in formats().items())])


def _checkpoints_in(path: Path) -> list[str]:
    """List the folders inside a folder that are checkpoints."""
    folders = sorted(entry for entry in path.iterdir() if entry.is_dir()) if path.is_dir() else []
    return [folder.name for folder in folders if any(reader.recognises(folder) for reader in formats().values())]


def _arrays(content: Any) -> dict[str, tuple[int, ...]]:
    """Find the shapes of the arrays in what was unpickled."""
    parts = content.items() if isinstance(content, Mapping) else ()
    return {str(name): part.shape for name, part in parts if isinstance(part, np.ndarray)}


def _kind(content: Any) -> str:
    if isinstance(content, Mapping):
        return "a state_dict" if _arrays(content) else f"a dictionary with {_some(map(str, content))}"
    if isinstance(content, StubObject):
        return f"a pickled {content.origin}"
    return f"a pickled {type(content).__name__}"


def _nearest(found: Iterable[str]) -> list[str]:
    """Name the formats that most of what one is known by was found of, and what they have besides."""
    names = set(found)
    groups = [(name, group) for name, reader in formats().items() for group in reader.known_by]
    shares = [len(group & names) / len(group) for _, group in groups]
    best = max(shares, default=0.0)
    if not 0 < best < 1:
        return []
    near = [group for group, share in zip(groups, shares, strict=True) if share == best]
    hints = "; ".join(f"{name}, which also has {' and '.join(sorted(group - names))}" for name, group in near)
    return [f"Nearest: {hints}. If it is that, name the format."]


def _some(names: Iterable[str]) -> str:
    """List some names, and tell how many there are besides."""
    listed = list(names)
    rest = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + rest
