"""Which format a checkpoint is in, by its files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from kgeval.checkpoints.reader import NAMED_BY_USER, PICKLED, Reader, formats
from kgeval.checkpoints.shared.tensors import unwrap_state_dict
from kgeval.data.io.text import first_line
from kgeval.data.layout import layouts
from kgeval.data.layouts.labelled import LABELLED_ENDINGS
from kgeval.errors import InputError, UsageError
from kgeval.files.opening import refuse_special
from kgeval.pickles.pickled import read_any
from kgeval.pickles.unpickle import StubObject

SHOWN = 6
"""tensors, files or folders that are named"""

MOST_FILES = 100
"""files of a folder that may be a checkpoint: none has more, and a folder of downloads may have thousands"""

NUMPY = ".npy"

LOCAL_HEADER = 512
"""bytes that have room for the name of an archive's first member, which torch.save calls data.pkl in a folder"""

LIST = "'kgeval list formats' shows the known formats."

NAME_TENSORS = (
    "If a model of 'kgeval list models' has its formula, name the tensors: --option model=MODEL --option entity=NAME "
    "--option relation=NAME. Otherwise kgeval.evaluate(module, dataset) in Python takes the module."
)
"""what to do with a state_dict of one's own"""

SCORES = (
    "Arrays of scores are a folder with tail_scores.npy or head_scores.npy (a row a triple, a column an entity); "
    "vectors are an .npz file with the names entity and relation, and the option model."
)
"""what to do with arrays of numpy"""


def describe_unknown(path: Path, options: Iterable[str]) -> str:
    if inside := _checkpoints_in(path):
        what = "1 folder that is a checkpoint" if len(inside) == 1 else f"{len(inside)} folders that are checkpoints"
        return f"{str(path)!r} holds {what}: {_some(inside)}. Give one of them."
    files = files_of(path)
    for file in files:
        refuse_special(file)
    pickled = next(filter(is_pickled, files), None)
    content = unwrap_state_dict(read_any(pickled)) if pickled else None
    tensors, arrays = _tensors(content), _saved_arrays(files)
    lines = [f"{str(path)!r} is in no known checkpoint format: it is {_what(path, files, pickled, content, arrays)}."]
    advice = _advice(path, files, tensors, arrays)
    if names := ", ".join(map(repr, options)):
        advice = f"{advice} Not used: the option {names}; only a known format has options, each its own.".strip()
    return "\n".join([*lines, *([advice] if advice else []), LIST])


def files_of(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else [path]


def is_pickled(file: Path) -> bool:
    """Whether ``torch.save`` or ``pickle`` wrote a file: by its ending, or where it has none, by how it begins."""
    if file.suffix or not file.is_file():
        return file.suffix in PICKLED and file.is_file()
    with file.open("rb") as opened:
        beginning = opened.read(LOCAL_HEADER)
    return beginning[:1] == b"\x80" or (beginning[:2] == b"PK" and b"data.pkl" in beginning)


def holds_models(path: Path) -> bool:
    models = any(is_pickled(file) or file.suffix == NUMPY for file in files_of(path))
    return path.is_file() or models or bool(_checkpoints_in(path))


def _what(path: Path, files: Sequence[Path], pickled: Path | None, content: Any, arrays: Mapping[str, str]) -> str:
    if path.is_dir():
        if not files:
            return "an empty folder"
        inside = [f"{name} {kind}" for name, kind in arrays.items()]
        inside = [f"{pickled.name}, {_kind(content)}", *inside] if pickled else inside
        empty = {file for file in files if file.is_file() and not file.stat().st_size}
        names = _some(f"{file.name} (empty)" if file in empty else file.name for file in files)
        listed = f"a folder with {names}"
        return f"{listed} ({'; '.join(inside[:SHOWN])})" if inside else listed
    if not path.stat().st_size:
        return "an empty file"
    return (
        _kind(content)
        if pickled
        else arrays.get(path.name, f"a {path.suffix} file" if path.suffix else "a file without an ending")
    )


def _advice(path: Path, files: Sequence[Path], tensors: Mapping[str, Any], arrays: Mapping[str, str]) -> str:
    if tensors:
        return " ".join([*_nearest(tensors), NAME_TENSORS] if len(tensors) > 1 else _nearest(tensors))
    if path.is_dir():
        return _advice_on_folder(path, files) or (SCORES if len(arrays) > 1 else "")
    if not path.stat().st_size:
        return "Save it again, or copy it again."
    told = (reader.lacks(path) for reader in formats().values())
    return _part_of(path.parent) or next(filter(None, told), "") or _advice_on_file(path)


def _part_of(folder: Path) -> str:
    """Say that a folder is one checkpoint as a whole, and not only a place of files that are."""
    try:
        files, place = files_of(folder), folder.absolute()
        if len(files) > MOST_FILES:
            return ""
        for name, reader in formats().items():
            if reader.recognises(place) and not any(reader.recognises(file) for file in files if file.is_file()):
                return f"It belongs to a checkpoint in the format {name}: give its folder, {str(folder)!r}."
    except OSError:  # the user may not read the folder, or a file in it
        pass
    return ""


def _advice_on_folder(path: Path, files: Sequence[Path]) -> str:
    names = {file.name for file in files}
    if "manifest.json" in names and any(name.endswith(".parquet") for name in names):
        return f"It is a run of kgeval: kgeval summarize {quote(str(path))} shows its metrics."
    if any(layout.recognises(path) for layout in layouts().values()):
        return f"It is a dataset: give it as --dataset {quote(str(path))}, and a checkpoint before it."
    return " ".join(_nearest(names))


def _advice_on_file(path: Path) -> str:
    if path.suffix in {".yaml", ".yml"}:
        return f"If it is a configuration: kgeval run {quote(str(path))}"
    if path.suffix == NUMPY:
        return SCORES
    if path.suffix == ".parquet":
        return f"If it has ranks: kgeval summarize {quote(str(path))}"
    if path.suffix == ".json" and _first(path).startswith("{") and _first(path).endswith("}"):
        return "If it is a list of predictions on each line, call it .jsonl."
    if path.name.lower().endswith(LABELLED_ENDINGS):
        return "If it has triples: a dataset is the folder around it, with train, valid and test files."
    return ""


def _first(path: Path) -> str:
    try:
        return first_line(path).strip()
    except InputError:
        return ""


def _saved_arrays(files: Iterable[Path]) -> dict[str, str]:
    """Describe the arrays in files of numpy's by type and shape; what cannot be read is left aside."""
    found = {}
    for file in files:
        if file.suffix == NUMPY and file.is_file():
            try:
                array = np.lib.format.open_memmap(file, mode="r")
            except Exception:  # noqa: S112 - numpy has many ways of refusing a damaged file
                continue
            found[file.name] = f"an array of {array.dtype} {list(array.shape)}"
    return found


def _checkpoints_in(path: Path) -> list[str]:
    folders = sorted(entry for entry in path.iterdir() if entry.is_dir()) if path.is_dir() else []
    return [folder.name for folder in folders if any(reader.recognises(folder) for reader in formats().values())]


def _tensors(content: Any) -> dict[str, tuple[int, ...]]:
    parts = content.items() if isinstance(content, Mapping) else ()
    return {str(name): part.shape for name, part in parts if isinstance(part, np.ndarray)}


def _kind(content: Any) -> str:
    if isinstance(content, Mapping):
        if tensors := _tensors(content):
            return f"a state_dict with {_some(f'{name} {list(shape)}' for name, shape in tensors.items())}"
        return f"a dictionary with {_some(map(str, content))}" if content else "an empty dictionary"
    if isinstance(content, StubObject):
        return f"a pickled {content.origin}"
    return f"a pickled {type(content).__name__}"


def _nearest(found: Iterable[str]) -> list[str]:
    """Name the formats that most of the tensors or files were found of, and those that are missing.

    One tensor such as ``rel_emb.weight`` is a hint only where one other is missing.
    """
    names = set(found)
    groups = [(name, group) for name, reader in formats().items() for group in reader.known_by if group & names]
    shares = [len(group & names) / len(group) for _, group in groups]
    best = max(shares, default=0.0)
    if not 0.5 <= best < 1:
        return []
    near = [
        f"{name}, without {' and '.join(sorted(group - names))}"
        for (name, group), share in zip(groups, shares, strict=True)
        if share == best
    ]
    return [f"Nearest: {'; '.join(near)}. If it is that, name it: --format NAME."]


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    rest = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + rest


def recognise(path: Path, options: Iterable[str] = ()) -> Reader:
    """Find the reader of a checkpoint from its files.

    If the user's options name tensors, a state dictionary in no framework's format is read by these names.
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
