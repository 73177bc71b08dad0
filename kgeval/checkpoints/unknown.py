"""The message for a file or folder in no known checkpoint format: what was found, what to do, where the formats are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from kgeval.checkpoints.shared.locate import first_lines
from kgeval.checkpoints.shared.mapped_arrays import NUMPY
from kgeval.checkpoints.shared.tensors import flat, unwrap_state_dict
from kgeval.data.layout import layouts
from kgeval.data.layouts.labelled import LABELLED_ENDINGS, STEMS
from kgeval.data.text import open_text
from kgeval.files.opening import refuse_special
from kgeval.paths import MANIFEST, METRICS, STAGE
from kgeval.pickles.pickled import is_pickled, read_any
from kgeval.pickles.unpickle import StubObject

SHOWN = 4
"""files or tensors that are named"""

LONGEST_LINE = 2**24
"""characters of a first object that are read"""

LIST = "'kgeval list formats' shows all formats."

NAME_TENSORS = (
    "Name its tensors: --option model=MODEL --option entity=NAME --option relation=NAME, or evaluate the live model "
    "in Python."
)
"""what to do with the state_dict of a user's own model"""

SPLIT_NAMES = {name for names in STEMS.values() for name in names}

ADVICE = {
    **dict.fromkeys(
        LABELLED_ENDINGS,
        "Give triples as a folder, --dataset FOLDER. Vectors need a first line with their numbers of rows and columns.",
    ),
    **dict.fromkeys(
        (".yaml", ".yml"),
        "If it is a configuration: kgeval run {path}. If it is LibKGE's trace, write its ranks to a CSV.",
    ),
    ".parquet": "If it holds ranks: kgeval summarize {path}",
    NUMPY: "If it holds scores, name it tail_scores.npy or head_scores.npy. If other files belong to it, give the "
    "folder.",
}
"""the ending of a file -> what it may be"""


Readers = Mapping[str, Any]
"""each :class:`kgeval.Reader`, by its name"""


def describe_unknown(path: Path, readers: Readers) -> str:
    if inside := checkpoints_in(path, readers):
        what = "1 folder that is a checkpoint" if len(inside) == 1 else f"{len(inside)} folders that are checkpoints"
        return f"{str(path)!r} holds {what}: {_some(inside)}. Give one of them."
    if triples := triple_files(path):
        cure = (
            "Name them train.tsv, valid.tsv and test.tsv, with the header head<TAB>relation<TAB>tail (in their order)."
        )
        what = f"its files {_some(triples)} are a dataset in no known layout"
        return f"{str(path)!r} is no checkpoint: {what}. {cure}\n'kgeval list datasets' shows all layouts."
    files = files_of(path)
    for file in files:
        refuse_special(file)
    pickled = next(filter(is_pickled, files), None)
    content, tensors = unwrap_state_dict(read_any(pickled)) if pickled else None, set()
    if isinstance(content, Mapping):
        content = dict(sorted(flat(content), key=lambda part: not isinstance(part[1], np.ndarray)))
        tensors = {name for name, part in content.items() if isinstance(part, np.ndarray)}
    found = _some(file.name + (_inside(content) if file == pickled else _size(file)) for file in files)
    if path.is_file() and found == path.name:
        found = ""
    seen = f": found {found}" if found else "" if files else ": it is an empty folder"
    return "\n".join([f"{str(path)!r} is in no known checkpoint format{seen}.", *_advice(path, tensors, readers), LIST])


def triple_files(path: Path) -> list[str]:
    """List the files of triples of a folder that no layout knows: train and test, in rows of three to five cells."""
    files = [file for file in files_of(path) if file.is_file() and file.name.partition(".")[0] in SPLIT_NAMES]
    names = [file.name for file in files if len(first_lines(file, 1)[0].split("\t")) in (3, 4, 5)]
    both = {"train", "test"} <= {name.partition(".")[0] for name in names}
    return names if both and not any(layout.recognises(path) for layout in layouts().values()) else []


def files_of(path: Path) -> Sequence[Path]:
    return sorted(path.iterdir()) if path.is_dir() else [path]


def checkpoints_in(path: Path, readers: Readers) -> list[str]:
    folders = [entry for entry in files_of(path) if entry.is_dir()]
    return [folder.name for folder in folders if any(reader.recognises(folder) for reader in readers.values())]


def _inside(content: Any) -> str:
    """Describe what a file of ``torch.save`` or ``pickle`` holds; a dictionary is flat, tensors first."""
    if isinstance(content, Mapping):
        shapes = [f" {list(part.shape)}" if isinstance(part, np.ndarray) else "" for part in content.values()]
        names = _some(f"{name}{shape}" for name, shape in zip(content, shapes, strict=True))
        return f" (a dictionary with {names or 'nothing in it'})"
    return f" (a pickled {content.origin if isinstance(content, StubObject) else type(content).__name__})"


def _size(file: Path) -> str:
    """Mark an empty file, and give the type and shape of an array of numpy."""
    if file.is_file() and not file.stat().st_size:
        return " (empty)"
    with suppress(Exception):  # numpy has many ways of refusing a damaged file, or one of another kind
        array = np.load(file, mmap_mode="r") if file.suffix == NUMPY else None
        return "" if array is None else f" ({array.dtype} {list(array.shape)})"
    return ""


def _advice(path: Path, tensors: set[str], readers: Readers) -> Iterator[str]:
    """Say what to do with a file or folder that holds tensors of some names: a line, or two of tensors."""
    place, names = quote(str(path)), {file.name for file in files_of(path)}
    if path.is_dir() and any(layout.recognises(path) for layout in layouts().values()):
        yield f"It is a dataset. Give a checkpoint before it: kgeval evaluate CHECKPOINT --dataset {place}"
    elif path.is_dir() and any((folder / STAGE).is_dir() for folder in (path, *files_of(path))):
        yield "A run was interrupted there. Repeat its command to finish it."
    elif path.is_dir() and names & {MANIFEST, METRICS}:
        yield f"It is a run of kgeval. See its metrics: kgeval summarize {place}"
    elif path.is_dir() and any(any(path.glob(f"{under}{MANIFEST}")) for under in ("*/", "*/*/", "*/*/*/")):
        yield f"It is a folder of runs of kgeval. See their metrics: kgeval summarize {place}"
    elif path.is_file() and not path.stat().st_size:
        yield "Save it again, or copy it again."
    elif near := _nearest(tensors or names, readers):
        yield near
    elif path.suffix.lower() in (".json", ".jsonl"):
        found = [f"{key!r:.40}" for key in islice(first_object(path), SHOWN)]
        yield (f"Its first object has the keys {', '.join(found)}. " if found else "") + (
            "A list of answers needs head (or tail), relation and predictions."
        )
    elif ending := next((ending for ending in ADVICE if path.name.lower().endswith(ending)), ""):
        yield ADVICE[ending].format(path=place, stem=path.stem)
    if len(tensors) > 1:
        yield NAME_TENSORS


def first_object(file: Path) -> Mapping[str, Any]:
    """Read the first object of a file of JSON, which stands alone on a line or in an array; empty without one."""
    with suppress(Exception), open_text(file) as text:
        line = next(filter(str.strip, iter(lambda: text.readline(LONGEST_LINE), ""))).lstrip()
        start = (line + text.read(LONGEST_LINE))[1:].lstrip() if line.startswith("[") else line
        content = json.JSONDecoder().raw_decode(start)[0]
        return content if isinstance(content, dict) else {}
    return {}


def _nearest(names: set[str], readers: Readers) -> str:
    """Name two formats at most of whose known tensors or files at least half, and not all, are there."""
    lacks = [
        (sorted(group - names), name)
        for name, reader in readers.items()
        for group in reader.known_by
        if len(group) <= 2 * len(group & names) < 2 * len(group)
    ]
    near = sorted(lacks, key=lambda lack: len(lack[0]))[:2]
    if not near:
        return ""
    told = [f"{name} ({' and '.join(lack)} {'is' if len(lack) == 1 else 'are'} missing)" for lack, name in near]
    what = "Nearest format" if len(near) == 1 else "Nearest formats"
    return f"{what}: {', '.join(told)}. If it is that: --checkpoint-format {near[0][1]}"


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    rest = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + rest
