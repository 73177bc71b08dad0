"""Kept graphs: a large graph that was read is kept in the user's cache, by the content of its files."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.data.dataset import Dataset
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import KgevalError
from kgeval.files.opening import sha256_of_file
from kgeval.storage.atomic import replacing

CACHE_VARIABLE = "KGEVAL_CACHE"
"""the environment variable that names another folder, or says ``off``"""

LEAST_BYTES = 2**22
"""bytes of a graph's files, below which no kept graph is looked for"""

LEAST_TRIPLES = 10**6
"""triples of a graph, below which it is not kept: it is read in a second"""

MOST_GRAPHS = 5
"""how many graphs are kept; the one that was not used for longest goes"""


def read_once(folder: Path, layout: str, files: Sequence[Path], read: Callable[[], Dataset]) -> Dataset:
    """Read a graph, or take what an earlier reading of the same files gave.

    The same are files of the same names and content (SHA-256), read as the same layout by the same code.
    Whatever is wrong with the cache, the files are read.

    Parameters
    ----------
    folder
        what the files are in
    layout
        the name of the layout
    files
        all files that are read
    read
        reads them
    """
    kept_file = _kept_file(folder, layout, files)
    if kept_file is None:
        return read()
    kept = _load(kept_file, folder, files)
    if kept is not None:
        return kept
    before = _states(files)
    dataset = read()
    if sum(map(len, dataset.splits.values())) >= LEAST_TRIPLES and not dataset.confidences and dataset.times is None:
        with suppress(KgevalError, OSError):
            # A file that has changed meanwhile has another hash than the name of the kept one says.
            if kept_file == _kept_file(folder, layout, files) and before == _states(files):
                _keep(kept_file, dataset, files)
    return dataset


def _kept_file(folder: Path, layout: str, files: Sequence[Path]) -> Path | None:
    """The file that a graph is kept in, by the content of its files; None if it is small or there is no cache."""
    try:
        place = cache_folder()
        if place is None or sum(path.stat().st_size for path in files) < LEAST_BYTES:
            return None
        named = [[str(path.relative_to(folder)), sha256_of_file(path)] for path in files]
        key = [_reading_code(), layout, named]
    except (OSError, ValueError, RuntimeError, ImportError, KgevalError):  # reading says what is wrong with a file
        return None
    return place / f"{hashlib.sha256(json.dumps(key).encode()).hexdigest()}.npz"


@cache
def _reading_code() -> str:
    """What names the code that reads and keeps graphs: its version, and the SHA-256 of its files."""
    files = sorted(Path(__file__).parents[1].rglob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    return f"{version('kgeval')} {digest}"


def cache_folder() -> Path | None:
    """The folder of kept graphs: of ``KGEVAL_CACHE``, or in the user's cache; None if that says ``off``.

    Raises
    ------
    RuntimeError
        if there is no home
    """
    wanted = os.environ.get(CACHE_VARIABLE, "")
    if wanted.lower() == "off":
        return None
    place = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(wanted or Path(place) / "kgeval") / "graphs"


def _states(files: Sequence[Path]) -> list[tuple[int, int]]:
    """Size and time of change of each file."""
    return [(state.st_size, state.st_mtime_ns) for state in (path.stat() for path in files)]


def _keep(kept_file: Path, dataset: Dataset, files: Sequence[Path]) -> None:
    """Write a graph, and let the oldest ones go."""
    about = {
        "files": [files.index(path) for path in dataset.files],
        "id_source": dataset.id_source,
        "notes": dataset.notes,
        "multiplicity": [*dataset.multiplicity],
    }
    arrays = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}
    for labels in (dataset.entities, dataset.relations):
        arrays[f"{labels.kind}.length"], arrays[f"{labels.kind}.text"] = _lengths_and_text(labels.labels)
    for split in ("train", "valid", "test"):
        arrays[split] = _compact(getattr(dataset, split).ids)
    for split, times in dataset.multiplicity.items():
        arrays[f"{split}.multiplicity"] = _compact(times)
    with replacing(kept_file) as partial, partial.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
    # Partial files are left by processes that were killed while they wrote.
    written = [*kept_file.parent.glob("*.npz"), *kept_file.parent.glob(".*.partial")]
    for old in sorted(written, key=lambda path: path.stat().st_mtime, reverse=True)[MOST_GRAPHS:]:
        old.unlink()


def _load(kept_file: Path, folder: Path, files: Sequence[Path]) -> Dataset | None:
    """Read a kept graph, if it is there and whole."""
    try:
        with zipfile.ZipFile(kept_file) as archive:
            if archive.testzip() is not None:  # an array is damaged: it has another checksum
                return None
        with np.load(kept_file, allow_pickle=False) as arrays:
            about = json.loads(arrays["about"].tobytes())
            dataset = Dataset(
                name=folder.resolve().name,
                entities=_vocabulary("entity", arrays),
                relations=_vocabulary("relation", arrays),
                train=Triples(_ids(arrays["train"])),
                valid=Triples(_ids(arrays["valid"])),
                test=Triples(_ids(arrays["test"])),
                multiplicity={split: _ids(arrays[f"{split}.multiplicity"]) for split in about["multiplicity"]},
                files=tuple(files[index] for index in about["files"]),
                id_source=about["id_source"],
                notes=tuple(about["notes"]),
            )
    except Exception:  # whatever is wrong with it: it is made again
        return None
    with suppress(OSError):
        os.utime(kept_file)  # the graph that was not used for longest goes first
    return dataset


def _lengths_and_text(labels: pa.Array) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Take labels apart: the bytes of each, int32[label], and all of them, uint8[byte]."""
    begins = np.frombuffer(labels.buffers()[1], np.int32)[labels.offset : labels.offset + len(labels) + 1]
    text = np.frombuffer(labels.buffers()[2] or b"", np.uint8)
    return np.diff(begins), text[begins[0] : begins[-1]]


def _vocabulary(kind: str, arrays: Any) -> Vocabulary:
    lengths, text = arrays[f"{kind}.length"], arrays[f"{kind}.text"]
    begins = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    labels = pa.Array.from_buffers(pa.string(), len(lengths), [None, pa.py_buffer(begins), pa.py_buffer(text)])
    return Vocabulary.of_distinct(labels, kind)


def _compact(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Store small numbers in half the bytes."""
    return numbers.astype(np.int32) if int(numbers.max(initial=0)) < 2**31 else numbers


def _ids(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return numbers.astype(np.int64, copy=False)
