"""Which format a checkpoint is in; and of a path in none, what it holds, the nearest format, and a way out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.checkpoints.reader import NAMED_BY_USER, PICKLED, Reader, formats
from kgeval.checkpoints.shared.tensors import unwrap_state_dict
from kgeval.errors import UsageError
from kgeval.pickles.pickled import read_any
from kgeval.pickles.unpickle import StubObject

SHOWN = 6
"""tensors, files or folders that are named"""

NUMPY = ".npy"

LOCAL_HEADER = 512
"""bytes that have room for the name of an archive's first member, which torch.save calls data.pkl in a folder"""

ADVICE = """\
Two ways to evaluate such arrays:
  a model of 'kgeval list models' has the very formula:
    {}, and give the option model;
  none has it, or vectors are normalised first:
    in Python, kgeval.evaluate(module, dataset) takes a PyTorch module or any function of ids."""

NAME_THEM, SAVE_THEM = (
    "name them by the options entity=NAME and relation=NAME",
    "save them as an .npz file with the names entity and relation",
)
"""what to do with tensors of a state_dict, and with other arrays"""


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
    if {"entity", "relation"} <= {*options} and any(map(_is_pickled, _files(path))):
        return formats()[NAMED_BY_USER]
    raise UsageError(_describe_unknown(path, options))


def holds_models(path: Path) -> bool:
    """Whether a path is a pickled file or an array, or a folder that holds such, or folders that are checkpoints."""
    return any(_is_pickled(file) or file.suffix == NUMPY for file in _files(path)) or bool(_checkpoints_in(path))


def _describe_unknown(path: Path, options: Iterable[str]) -> str:
    """Describe what a path in no known format holds and how that can be used, a sentence a line."""
    inside = _checkpoints_in(path)
    if inside:
        what = "1 folder that is a checkpoint" if len(inside) == 1 else f"{len(inside)} folders that are checkpoints"
        return f"{str(path)!r} holds {what}: {_some(inside)}. Give one of them."
    lines = [f"{str(path)!r} is in no known checkpoint format."]
    files = _files(path)
    pickled = next(filter(_is_pickled, files), None)
    content = unwrap_state_dict(read_any(pickled)) if pickled else None
    tensors, saved = _arrays(content), _saved_arrays(files)
    if path.is_dir():
        lines.append(f"It is a folder with {_some(map(_named, files))}." if files else "It is an empty folder.")
    elif not path.stat().st_size:
        lines.append("It is an empty file.")
    if pickled:
        shapes = _some(f"{name} {list(shape)}" for name, shape in tensors.items())
        lines.append(f"{pickled.name} is {_kind(content)}{f' with {shapes}' if tensors else ''}.")
    lines += [f"{name} is an array of {kind}." for name, kind in list(saved.items())[:SHOWN]]
    if tensors:
        lines += _nearest(tensors, least=2)
    elif path.is_dir():
        lines += _nearest((file.name for file in files), least=1)
    if len(tensors) + len(saved) > 1:
        lines.append(ADVICE.format(NAME_THEM if tensors else SAVE_THEM))
    if names := ", ".join(map(repr, options)):
        lines.append(f"Not used: the option {names}. Only a known format has options, each its own.")
    return "\n".join([*lines, "Known formats:", *(f"  {name}: {reader.summary}" for name, reader in formats().items())])


def _files(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else [path]


def _named(file: Path) -> str:
    return f"{file.name} (empty)" if file.is_file() and not file.stat().st_size else file.name


def _is_pickled(file: Path) -> bool:
    """Whether ``torch.save`` or ``pickle`` wrote a file: by its ending, or where it has none, by how it begins."""
    if file.suffix or not file.is_file():
        return file.suffix in PICKLED and file.is_file()
    with file.open("rb") as opened:
        beginning = opened.read(LOCAL_HEADER)
    return beginning[:1] == b"\x80" or (beginning[:2] == b"PK" and b"data.pkl" in beginning)


def _saved_arrays(files: Iterable[Path]) -> dict[str, str]:
    """Describe the arrays in files of numpy's by type and shape; what cannot be read is left aside."""
    found = {}
    for file in files:
        if file.suffix == NUMPY and file.is_file():
            try:
                array = np.lib.format.open_memmap(file, mode="r")
            except Exception:  # noqa: S112 - numpy has many ways of refusing a damaged file
                continue
            found[file.name] = f"{array.dtype} {list(array.shape)}"
    return found


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


def _nearest(found: Iterable[str], *, least: int) -> list[str]:
    """Name the formats that most of what one is known by was found of, and what they have besides.

    ``least`` names have to be found: one tensor such as ``rel_emb.weight`` is found in many formats.
    """
    names = set(found)
    groups = [(name, group) for name, reader in formats().items() for group in reader.known_by]
    shares = [len(group & names) / len(group) if len(group & names) >= least else 0.0 for _, group in groups]
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
