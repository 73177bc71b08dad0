"""Readers of checkpoint formats: which one recognises a checkpoint, and the message on files that none recognises.

Each file of the folder declares the readers of a framework, or of a kind of files. ``load_checkpoint`` calls
``recognise`` with a path, and then the ``read`` of the reader that it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from kgeval.base.errors import UsageError, counted, first_few
from kgeval.base.files import exists_safely, refuse_special
from kgeval.base.pickled import is_pickled, read_pickled
from kgeval.base.registries import by_name, instances, load_entry_points
from kgeval.base.settings_text import flat
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.locate import first_object
from kgeval.models.checkpoints.mapped_arrays import NUMPY
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.tensors import unwrap_state_dict

NAMED_BY_USER = "state-dict"
"""the format of a state_dict in no known format, whose tensors the user names"""


@dataclass(frozen=True)
class Reader:
    """A checkpoint format: how to recognise its files, and how to read a model from them.

    ``read`` takes a file or folder and the :class:`~kgeval.models.checkpoints.options.Options` of the user. It
    returns a :class:`~kgeval.models.checkpoints.checkpoint.Checkpoint` with a :class:`kgeval.Family` (in a
    :class:`~kgeval.models.mapped.Reciprocal` if heads are predicted with inverse relations), the files that it has
    read, the labels that it has found, and ``options.origins``. It asks for what the files do not say with
    ``options.resolve`` or ``options.require``; options that it does not ask for are refused. It executes nothing from
    the files, and refuses damaged ones with a ``CheckpointError``.

    ``load_checkpoint(format=…)`` takes a reader or its name. kgeval's own readers are declared in
    ``kgeval/models/checkpoints/readers``, readers of other packages in the entry point group ``kgeval.checkpoints``.

    Examples
    --------
    >>> import json, tempfile
    >>> import numpy as np
    >>> import kgeval
    >>> from pathlib import Path
    >>> from kgeval import Reader
    >>> from kgeval.models.checkpoints import Checkpoint
    >>> from kgeval.data.vocabulary import Vocabulary
    >>> from kgeval.models.families.bilinear import DistMult
    >>> def read(path: Path, options: Options) -> Checkpoint:
    ...     content = json.loads(path.read_text())
    ...     arrays = {name: np.array(content[name], float) for name in ("entity", "relation")}
    ...     labels = Vocabulary(content["labels"])
    ...     return Checkpoint(DistMult(**arrays), "tiny", (path,), entities=labels, origins=options.origins)
    >>> tiny = Reader("tiny", "a DistMult in a .tiny file", recognises=lambda path: path.suffix == ".tiny", read=read)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.tiny"
    ...     _ = path.write_text('{"entity": [[1, 2], [3, 4]], "relation": [[1, 0]], "labels": ["ant", "bee"]}')
    ...     kgeval.load_checkpoint(path, format=tiny)
    Checkpoint(DistMult from model.tiny: 2 entities, 1 relations)
    """

    name: str
    """its name in ``--checkpoint-format`` and ``kgeval list formats``, in lower case"""
    summary: str
    """its files, in one line"""
    recognises: Callable[[Path], bool]
    """whether a file or folder is in this format; cheap, and never by guessing"""
    read: Callable[[Path, Options], Checkpoint]
    """(path, options of the user) -> the model"""
    known_by: tuple[frozenset[str], ...] = ()
    """for hints: groups of tensors in a file, or of files in a folder; each group alone identifies the format"""
    models: Sequence[Mapping[str, str]] = ()
    """for a format that is a table of models: the name, family, tensors and options of each model"""


@cache
def formats() -> dict[str, Reader]:
    """All readers, by name; those of other packages too."""
    local = sorted(instances("kgeval.models.checkpoints.readers", Reader), key=lambda reader: reader.name)
    return by_name("formats", [*local, *load_entry_points("kgeval.checkpoints", Reader)])


def readers_of(path: Path) -> list[Reader]:
    """Return the readers that recognise the files at a path; refuse a folder of the system."""
    refuse_special(path)
    return [reader for reader in formats().values() if reader.recognises(path)]


def recognise(path: Path, options: Iterable[str] = ()) -> Reader:
    """Find the reader of a checkpoint from its files.

    If the user's options name tensors, a state dictionary in no framework's format is read by these names.
    """
    fitting = readers_of(path)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = [reader.name for reader in fitting]
        cure = f"Name the format: --checkpoint-format {names[0]} (in Python format={names[0]!r})."
        raise UsageError(f"{str(path)!r} fits the formats {' and '.join(names)}. {cure}")
    if {"entity", "relation"} <= {*options} and any(map(is_pickled, files_of(path))):
        return formats()[NAMED_BY_USER]
    raise UsageError(_describe_unknown(path))


def holds_models(path: Path) -> bool:
    """Whether a path is a file, or a folder that holds models or folders of models."""
    models = any(is_pickled(file) or file.suffix == NUMPY for file in files_of(path))
    return path.is_file() or models or bool(_checkpoints_in(path))


def files_of(path: Path) -> list[Path]:
    """List the files and folders in a folder; for a file, the file itself."""
    return sorted(path.iterdir()) if path.is_dir() else [path]


def _checkpoints_in(path: Path) -> list[str]:
    """Name the folders and files in a folder that a reader recognises."""
    inside = [entry for entry in files_of(path) if path.is_dir() and exists_safely(entry)]
    return [entry.name for entry in inside if any(reader.recognises(entry) for reader in formats().values())]


SHOWN = 4
"""the most files or tensors that a message names"""

NAME_OPTIONS = "--option model=MODEL --option entity=NAME --option relation=NAME"

NAME_TENSORS = f"Name its tensors: {NAME_OPTIONS}, or evaluate the live model in Python."
"""the advice for the state_dict of a user's own model"""


def _describe_unknown(path: Path) -> str:
    """Say what a file or folder in no known format holds, and what the nearest formats miss in it."""
    if inside := _checkpoints_in(path):
        fault = f"{str(path)!r} holds {counted(len(inside), 'checkpoint')}"
        return f"{fault}: {first_few(inside, SHOWN)}. Give one of them."
    files = files_of(path)
    for file in files:
        refuse_special(file)
    pickled = next(filter(is_pickled, files), None)
    content = flat(unwrap_state_dict(read_pickled(pickled))) if pickled else ()
    shapes = {name: list(part.shape) for name, part in content if isinstance(part, np.ndarray)}
    held = first_few([f"{name:.60} {shape}" for name, shape in shapes.items()], SHOWN)
    listed = [f"{file.name} ({held})" if held and file == pickled else file.name for file in files]
    keys = first_few([f"{key:.60}" for key in first_object(path)], SHOWN)
    listed = [f"objects of {keys}"] if keys else listed
    shown = f": found {first_few(listed, SHOWN)}" if held or keys or path.is_dir() else ""
    lines = [f"{str(path)!r} is in no known checkpoint format{shown if files else ': it is an empty folder'}."]
    lines += ["Lists of predictions have relation, head or tail, and predictions."] * bool(keys)
    lines += _nearest({*shapes} or {file.name for file in files}) + [NAME_TENSORS] * (len(shapes) > 1)
    return "\n".join([*lines, "'kgeval list formats' shows all formats."])


def _nearest(names: set[str]) -> list[str]:
    """Name the formats, two at most, with at least half of their files or tensors there, and the missing ones."""
    groups = [(name, group) for name, reader in formats().items() for group in reader.known_by]
    lacking = [(name, sorted(group - names)) for name, group in groups if 0 < 2 * len(group - names) <= len(group)]
    near = sorted(lacking, key=lambda lack: len(lack[1]))[:2]
    missing = ", ".join(f"{name} ({' and '.join(lacks)} missing)" for name, lacks in near)
    return [f"Nearest: {missing}. If it is that: --checkpoint-format {near[0][0]}"] if near else []
