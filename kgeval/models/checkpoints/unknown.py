"""The message for a file or folder in no known checkpoint format: what was found, what to do, where the formats are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from kgeval.base.errors import counted, first_few
from kgeval.base.files import MANIFEST, METRICS, STAGE, exists_safely, refuse_special
from kgeval.base.pickled import is_pickled, read_any
from kgeval.base.unpickle import StubObject
from kgeval.data.layout import layouts
from kgeval.models.checkpoints.shared.locate import JSON_ENDINGS, first_object
from kgeval.models.checkpoints.shared.tensors import flat, unwrap_state_dict

SHOWN = 4
"""files or tensors that are named"""

LIST = "'kgeval list formats' shows all formats."

NAME_TENSORS = (
    "Name its tensors: --option model=MODEL --option entity=NAME --option relation=NAME, or evaluate the live model "
    "in Python."
)
"""what to do with the state_dict of a user's own model"""

TRIPLES = "Triples go with --dataset. "

VECTORS = "Vectors need a label in each row, and a first line with the numbers of rows and columns."

ADVICE = {
    **dict.fromkeys((".txt", ".tsv", ".nt", ".gz"), TRIPLES + VECTORS),
    ".csv": TRIPLES + "Lists of predictions must be JSON, one object for each query.",
    **dict.fromkeys((".yaml", ".yml"), "If it is a configuration: kgeval run {path}"),
    **dict.fromkeys(JSON_ENDINGS, "If it holds lists: each is an object with head or tail, relation and predictions."),
    ".parquet": "If it holds ranks: kgeval summarize {path}",
    ".npy": "If it holds scores, name it tail_scores.npy or head_scores.npy. Of several files, give the folder.",
}
"""the suffix of a file -> what it may be"""

TOGETHER = {
    ("entity.npy", "relation.npy"): "Save both arrays in one file: numpy.savez('model.npz', entity=…, relation=…).",
    ("metadata.tsv", "vectors.tsv"): f"These are labels and their vectors. Write one text of both. {VECTORS}",
}
"""the names of files in one folder -> how to give what they hold"""

RUNS = tuple(f"{under}{MANIFEST}" for under in ("", "*/", "*/*/", "*/*/*/"))
"""what is in the folder of a run, or in one of several runs"""

Readers = Mapping[str, Any]
"""each :class:`kgeval.Reader`, by its name"""


def describe_unknown(path: Path, readers: Readers) -> str:
    if inside := checkpoints_in(path, readers):
        what = f"{str(path)!r} holds {counted(len(inside), 'checkpoint')}"
        return f"{what}: {first_few(inside, SHOWN)}. Give one of them."
    files = files_of(path)
    for file in files:
        refuse_special(file)
    pickled = next(filter(is_pickled, files), None)
    content, tensors = unwrap_state_dict(read_any(pickled)) if pickled else first_object(path), set[str]()
    described = pickled or (path if content else None)
    if isinstance(content, Mapping):
        content = dict(sorted(flat(content), key=lambda part: not isinstance(part[1], np.ndarray)))
        tensors = {name for name, part in content.items() if isinstance(part, np.ndarray)}
    found = first_few([file.name + (_inside(content) if file == described else _empty(file)) for file in files], SHOWN)
    seen = "" if path.is_file() and found == path.name else f": found {found}" if files else ": it is an empty folder"
    return "\n".join([f"{str(path)!r} is in no known checkpoint format{seen}.", *_advice(path, tensors, readers), LIST])


def files_of(path: Path) -> Sequence[Path]:
    return sorted(path.iterdir()) if path.is_dir() else [path]


def checkpoints_in(path: Path, readers: Readers) -> list[str]:
    """Name the folders and files in a folder that a reader recognises."""
    inside = [entry for entry in files_of(path) if path.is_dir() and exists_safely(entry)]
    return [entry.name for entry in inside if any(reader.recognises(entry) for reader in readers.values())]


def _inside(content: Any) -> str:
    """Describe what a file of ``torch.save`` or ``pickle`` holds; a dictionary is flat, tensors first."""
    if not isinstance(content, Mapping):
        return f" (a pickled {content.origin if isinstance(content, StubObject) else type(content).__name__})"
    shapes = {name: f" {list(part.shape)}" for name, part in content.items() if isinstance(part, np.ndarray)}
    parts = [f"{name:.60}{shapes.get(name, '')}" for name in content]
    return f" (a dictionary with {first_few(parts, SHOWN) or 'nothing in it'})"


def _empty(file: Path) -> str:
    return " (empty)" if file.is_file() and not file.stat().st_size else ""


def _advice(path: Path, tensors: set[str], readers: Readers) -> Iterator[str]:
    """Say what to do with a file or folder that holds tensors of some names: a line, or two of tensors."""
    place, names = quote(str(path)), {file.name for file in files_of(path)}
    if path.is_dir() and any(layout.recognises(path) for layout in layouts().values()):
        yield f"It is a dataset. Give a checkpoint before it: kgeval evaluate CHECKPOINT --dataset {place}"
    elif any(any(path.glob(f"{under}{STAGE}")) for under in ("", "*/")):
        yield "A run was interrupted there. Repeat its command to finish it."
    elif any(any(path.glob(pattern)) for pattern in RUNS) or "schema" in first_object(path / METRICS):
        yield f"It holds runs of kgeval. See their metrics: kgeval summarize {place}"
    elif near := _nearest(tensors or names, readers):
        yield near
    elif known := [how for those, how in TOGETHER.items() if names.issuperset(those)]:
        yield known[0]
    elif path.suffix.lower() in ADVICE:
        yield ADVICE[path.suffix.lower()].format(path=place)
    if len(tensors) > 1:
        yield NAME_TENSORS


def _nearest(names: set[str], readers: Readers) -> str:
    """Name the formats, two at most, of which at least half the files or tensors are there, and what is missing."""
    groups = [(name, group) for name, reader in readers.items() for group in reader.known_by]
    lacking = [(name, sorted(group - names)) for name, group in groups if 0 < 2 * len(group - names) <= len(group)]
    near = sorted(lacking, key=lambda lack: len(lack[1]))[:2]
    missing = ", ".join(f"{name} ({' and '.join(lacks)} missing)" for name, lacks in near)
    return f"Nearest: {missing}. If it is that: --checkpoint-format {near[0][0]}" if near else ""
