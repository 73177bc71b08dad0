"""Named arrays: kgeval's own safetensors files, and any ``.safetensors`` or ``.npz`` with entity and relation in it."""

from __future__ import annotations

import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.checkpoint import Checkpoint, Options
from kgeval.checkpoints.labels import read_labels
from kgeval.checkpoints.native import FORMAT, LABELS, VERSION
from kgeval.checkpoints.reader import Reader
from kgeval.errors import CheckpointError
from kgeval.graph.vocabulary import Vocabulary
from kgeval.scorers.family import families, family
from kgeval.scorers.reciprocal import Reciprocal

SUFFIXES = {".npz", ".safetensors"}


@dataclass(frozen=True)
class Stored:
    """What a file of arrays holds."""

    arrays: dict[str, FloatArray]
    labels: dict[str, Vocabulary]
    model: str | None
    options: dict[str, Any]
    reciprocal: bool | None


def read(path: Path, options: Options) -> Checkpoint:
    """Read arrays, and their labels from the file itself or from ``entities.tsv`` and ``relations.tsv`` beside it.

    Raises
    ------
    CheckpointError
        if the file is damaged, or if it does not name its model and the option ``model`` is missing
    """
    file = _file(path)
    stored = _read_safetensors(file) if file.suffix == ".safetensors" else _read_npz(file)
    labels, label_files = _labels(file, stored)
    name = options.resolve("model", stored.model, file.name)
    if name is None:
        raise CheckpointError(
            f"{file} does not say which model it is: give the option model, one of {', '.join(families())}."
        )
    kind = family(str(name))
    chosen = {key: options.resolve(key, stored.options.get(key), file.name) for key in kind.option_names()}
    reciprocal = options.resolve("reciprocal", stored.reciprocal, file.name)
    try:
        built = kind.build(stored.arrays, {key: value for key, value in chosen.items() if value is not None})
    except CheckpointError as error:
        raise CheckpointError(f"{file}: {error}") from error
    return Checkpoint(
        model=Reciprocal(built) if reciprocal else built,
        format="native",
        files=(file, *label_files),
        entities=labels.get("entity"),
        relations=labels.get("relation"),
        origins=options.origins,
    )


def _file(path: Path) -> Path:
    if path.is_file():
        return path
    files = sorted(entry for entry in path.iterdir() if entry.suffix in SUFFIXES)
    if len(files) != 1:
        names = ", ".join(file.name for file in files) or "none"
        raise CheckpointError(f"{str(path)!r}: expected one .npz or .safetensors file in it, found {names}.")
    return files[0]


def _labels(file: Path, stored: Stored) -> tuple[dict[str, Vocabulary], tuple[Path, ...]]:
    beside = {"entity": file.with_name("entities.tsv"), "relation": file.with_name("relations.tsv")}
    files = {kind: path for kind, path in beside.items() if kind not in stored.labels and path.is_file()}
    return {**stored.labels, **{kind: read_labels(path, kind) for kind, path in files.items()}}, tuple(files.values())


def _read_npz(file: Path) -> Stored:
    try:
        with zipfile.ZipFile(file) as archive:
            _refuse_bombs(archive)
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, MemoryError) as error:
        raise CheckpointError(f"{file}: not a readable .npz file, or cut short ({_first(error)}).") from error
    return Stored(_floats(file, arrays), {}, None, {}, None)


def _read_safetensors(file: Path) -> Stored:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np") as opened:
            metadata = opened.metadata() or {}
            names = opened.keys()
            tensors = {name: opened.get_tensor(name) for name in names}
        options = json.loads(metadata.get("options", "{}"))
        reciprocal = json.loads(metadata.get("reciprocal", "null"))
        labels = {kind: _inside(tensors.pop(name), kind) for name, kind in LABELS.items() if name in tensors}
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, MemoryError) as error:
        raise CheckpointError(f"{file}: not a readable .safetensors file, or cut short ({_first(error)}).") from error
    version = metadata.get("version", VERSION)
    if metadata.get("format") == FORMAT and version != VERSION:
        raise CheckpointError(f"{file}: version {version} of the native format; this kgeval reads version {VERSION}.")
    return Stored(_floats(file, tensors), labels, metadata.get("model"), options, reciprocal)


def _inside(encoded: np.ndarray[Any, Any], kind: str) -> Vocabulary:
    return Vocabulary([str(label) for label in json.loads(encoded.tobytes())], kind)


def _refuse_bombs(archive: zipfile.ZipFile) -> None:
    """Refuse arrays that announce another size than they have, before anything is allocated."""
    for info in archive.infolist():
        with archive.open(info) as member:
            version = np.lib.format.read_magic(member)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = header(member)
            if dtype.itemsize * int(np.prod(shape, dtype=object)) + member.tell() != info.file_size:
                raise ValueError(f"{info.filename} announces {shape} {dtype}, which is not its size")


def _floats(file: Path, arrays: dict[str, np.ndarray[Any, Any]]) -> dict[str, FloatArray]:
    for name, array in arrays.items():
        if array.dtype not in (np.float16, np.float32, np.float64):
            raise CheckpointError(
                f"{file}: the array {name!r} is {array.dtype}; expected float16, float32 or float64"
                " (complex vectors as halves [re | im])."
            )
        if array.ndim == 0 or (name in {"entity", "relation"} and array.ndim != 2):
            raise CheckpointError(f"{file}: the array {name!r} has shape {array.shape}; expected one row per {name}.")
    return arrays


def _first(error: BaseException) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__


READER = Reader(
    name="native",
    summary=".safetensors or .npz with arrays entity and relation, labels inside or in entities.tsv, relations.tsv",
    recognises=lambda path: (
        path.suffix in SUFFIXES if path.is_file() else any(entry.suffix in SUFFIXES for entry in path.iterdir())
    ),
    read=read,
)
