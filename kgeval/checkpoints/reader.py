"""Readers: what it takes to read a checkpoint of one format, and which format a checkpoint is in, by its files.

A refusal says what was found, which formats are near, and which are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.shared.tensors import unwrap_state_dict
from kgeval.data.layout import layouts
from kgeval.data.layouts.labelled import LABELLED_ENDINGS
from kgeval.discovery import brought, by_name, instances
from kgeval.errors import UsageError
from kgeval.files.opening import refuse_special
from kgeval.pickles.pickled import read_any
from kgeval.pickles.unpickle import StubObject

PICKLED = {".pkl", ".pt", ".pth", ".ckpt", ".model"}
"""the endings of files that ``torch.save`` or ``pickle`` wrote"""

NAMED_BY_USER = "state-dict"
"""the format of files in no framework's own, whose tensors the user names"""


@dataclass(frozen=True)
class Reader:
    """A checkpoint format: how its files are recognised, and how they become a model.

    ``read`` takes a file or folder and the :class:`~kgeval.checkpoints.options.Options` of the user. It returns a
    :class:`~kgeval.checkpoints.checkpoint.Checkpoint`: a :class:`kgeval.Family` (in a
    :class:`~kgeval.scorers.mapped.Reciprocal` where heads are predicted with inverse relations), the
    files that it has read, the labels of the ids where it finds any, and ``options.origins``. What the files do not say
    it takes with ``options.resolve`` or ``options.require``, so that what the user says for nothing is refused. It
    executes nothing that it reads, and refuses damaged files with a ``CheckpointError``.

    ``load_checkpoint(format=…)`` takes a reader, or the name of one: the files in ``kgeval/checkpoints/readers``
    declare them, other packages in entry points of the group ``kgeval.checkpoints``.

    Examples
    --------
    >>> import json, tempfile
    >>> import numpy as np
    >>> import kgeval
    >>> from pathlib import Path
    >>> from kgeval import Reader
    >>> from kgeval.checkpoints import Checkpoint
    >>> from kgeval.data.vocabulary import Vocabulary
    >>> from kgeval.scorers.families.bilinear import DistMult
    >>> def read(path, options):
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
    """what ``--checkpoint-format`` and ``kgeval list formats`` call it, in lower case"""
    summary: str
    """its files, in a line"""
    recognises: Callable[[Path], bool]
    """whether a file or folder is in this format; cheap, and never by guessing"""
    read: Callable[[Path, Options], Checkpoint]
    """(a path, what the user said) -> the model"""
    known_by: tuple[frozenset[str], ...] = ()
    """groups of tensors (of a file) or files (of a folder), each enough to know the format by; for hints"""
    models: Sequence[Mapping[str, str]] = ()
    """the table of a format that is one: of each model its name, family, tensors and options"""


@cache
def formats() -> dict[str, Reader]:
    """All readers, by name; those of other packages too."""
    own = sorted(instances("kgeval.checkpoints.readers", Reader), key=lambda reader: reader.name)
    return by_name("formats", [*own, *brought("kgeval.checkpoints", Reader)])


SHOWN = 6
"""files or tensors that are named"""

NUMPY = ".npy"

LOCAL_HEADER = 512
"""bytes that have room for the name of an archive's first member, which torch.save calls data.pkl in a folder"""

NAME_TENSORS = (
    "If a model of 'kgeval list models' has its formula, name the tensors: --option model=MODEL --option entity=NAME "
    "--option relation=NAME. Otherwise kgeval.evaluate(module, dataset) in Python takes the module."
)
"""what to do with a state_dict of one's own"""

ARRAYS = (
    "Arrays of scores are a folder with tail_scores.npy or head_scores.npy (a row a triple, a column an entity); "
    "vectors are an .npz file with the names entity and relation, and the option model. If other files belong to the "
    "array, give their folder."
)

TEXT = (
    "If it has triples: a dataset is the folder around it, with train, valid and test files. If it has vectors: their "
    "first line is two numbers, of rows and of columns."
)

ADVICE = {
    **dict.fromkeys(LABELLED_ENDINGS, TEXT),
    **dict.fromkeys((".yaml", ".yml"), "If it is a configuration: kgeval run {path}"),
    ".parquet": "If it has ranks: kgeval summarize {path}",
    ".json": "If it is a list of predictions on each line, call it .jsonl.",
    ".jsonl": "A list of predictions has 'relation', 'predictions', and the label of 'head' or 'tail'.",
    NUMPY: ARRAYS,
}
"""the ending of a file -> what it may be"""


def recognise(path: Path, options: Iterable[str] = ()) -> Reader:
    """Find the reader of a checkpoint from its files.

    If the user's options name tensors, a state dictionary in no framework's format is read by these names.
    """
    fitting = [reader for reader in formats().values() if reader.recognises(path)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = " and ".join(reader.name for reader in fitting)
        raise UsageError(f"{str(path)!r} could be {names}: name the format (--checkpoint-format, format=).")
    if {"entity", "relation"} <= {*options} and any(map(is_pickled, files_of(path))):
        return formats()[NAMED_BY_USER]
    raise UsageError(describe_unknown(path, options))


def describe_unknown(path: Path, options: Iterable[str]) -> str:
    if inside := _checkpoints_in(path):
        what = "1 folder that is a checkpoint" if len(inside) == 1 else f"{len(inside)} folders that are checkpoints"
        return f"{str(path)!r} holds {what}: {_some(inside)}. Give one of them."
    files = files_of(path)
    for file in files:
        refuse_special(file)
    pickled = next(filter(is_pickled, files), None)
    content = unwrap_state_dict(read_any(pickled)) if pickled else None
    found = _some(file.name + (_inside(content) if file == pickled else _size(file)) for file in files)
    tensors = {*map(str, content)} if isinstance(content, Mapping) else set()
    advice = _advice(path, tensors or {file.name for file in files})
    if len(tensors) > 1:
        advice.append(NAME_TENSORS)
    if names := ", ".join(map(repr, options)):
        advice.append(f"Not used: the option {names}; only a known format has options, each its own.")
    return "\n".join(
        [
            f"{str(path)!r} is in no known checkpoint format: found {found or 'an empty folder'}.",
            *([" ".join(advice)] if advice else []),
            f"Known are {', '.join(sorted(formats()))}: 'kgeval list formats' shows their files.",
        ]
    )


def files_of(path: Path) -> Sequence[Path]:
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


def _checkpoints_in(path: Path) -> list[str]:
    folders = [entry for entry in files_of(path) if entry.is_dir()]
    return [folder.name for folder in folders if any(reader.recognises(folder) for reader in formats().values())]


def _inside(content: Any) -> str:
    """Describe what a file of ``torch.save`` or ``pickle`` holds."""
    if isinstance(content, Mapping):
        shapes = [f" {list(part.shape)}" if isinstance(part, np.ndarray) else "" for part in content.values()]
        names = _some(f"{name}{shape}" for name, shape in zip(content, shapes, strict=True))
        return f" (a dictionary with {names or 'nothing in it'})"
    return f" (a pickled {content.origin if isinstance(content, StubObject) else type(content).__name__})"


def _size(file: Path) -> str:
    """Tell an empty file, and the type and shape of an array of numpy."""
    if file.is_file() and not file.stat().st_size:
        return " (empty)"
    with suppress(Exception):  # numpy has many ways of refusing a damaged file, or one of another kind
        array = np.load(file, mmap_mode="r") if file.suffix == NUMPY else None
        return "" if array is None else f" ({array.dtype} {list(array.shape)})"
    return ""


def _advice(path: Path, names: set[str]) -> list[str]:
    """Say what to do with tensors or files of some names."""
    if near := _nearest(names):
        return near
    if path.is_dir() and any(layout.recognises(path) for layout in layouts().values()):
        return [f"It is a dataset: give it as --dataset {quote(str(path))}, and a checkpoint before it."]
    if "manifest.json" in names and any(name.endswith(".parquet") for name in names):
        return [f"It is a run of kgeval: kgeval summarize {quote(str(path))} shows its metrics."]
    ending = next((ending for ending in ADVICE if path.name.lower().endswith(ending)), "")
    return [ADVICE[ending].format(path=quote(str(path)))] if ending else []


def _nearest(names: set[str]) -> list[str]:
    """Name the formats of whose known tensors or files at least half, and not all, are there."""
    groups = [(name, group) for name, reader in formats().items() for group in reader.known_by]
    near = [
        f"{name}, without {' and '.join(sorted(group - names))}"
        for name, group in groups
        if len(group) <= 2 * len(group & names) < 2 * len(group)
    ]
    return [f"Nearest: {'; '.join(near)}. If it is that, name it: --checkpoint-format NAME."] if near else []


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    rest = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + rest
