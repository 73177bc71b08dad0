"""The native format: one safetensors file with everything inside; or any ``.safetensors`` or ``.npz`` of named arrays.

==================  ====================================================================================================
tensor              content
==================  ====================================================================================================
entity, relation…   the arrays of the model family, under their names, in their precision (float16, float32 or float64);
                    complex vectors as halves [re | im]; a reciprocal model's relations are R rows, then their inverses
entity_labels       uint8, a JSON list of the entity labels in UTF-8 (may be missing)
relation_labels     likewise
==================  ====================================================================================================

Its metadata are strings: ``format`` ("kgeval"), ``version`` ("1"), ``model`` (the family), ``options`` (a JSON object),
``reciprocal`` ("true" or "false"), ``numbering`` (what ids without labels are: "dataset", those of the dataset;
"sorted", the places of its sorted labels; "files", those of its framework's files; "unknown"), ``layouts`` (a
JSON list of the layouts of datasets that have such files, if there are any), ``lower_is_better`` ("true" or "false":
whether the framework's own evaluator ranks the lowest score first). ``name`` is what the framework calls the model, if
the family has another name. All but ``model`` may be missing: then there are no options, nothing is true, and the
numbering is unknown.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any, cast, get_args

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader, formats
from kgeval.checkpoints.shared.locate import contains_file, find_checkpoint_file, find_labels, read_labels
from kgeval.checkpoints.shared.mapped_arrays import (
    ARRAYS,
    OF_QUERIES,
    SAFE,
    has_table,
    read_npz,
    read_safetensors,
    readable,
)
from kgeval.checkpoints.shared.tensors import Tensors, model_of_named
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import CheckpointError, InputError
from kgeval.files.opening import JSON, Budget
from kgeval.scorers.family import Family
from kgeval.scorers.mapped import Reciprocal, Typed
from kgeval.scorers.scorer import Numbering
from kgeval.storage import replacing


@dataclass(frozen=True)
class NativeFile:
    arrays: dict[str, FloatArray]
    labels: dict[str, Vocabulary] = field(default_factory=dict)
    model: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    reciprocal: bool | None = None
    details: dict[str, Any] = field(default_factory=dict)
    """further fields of the checkpoint"""


def read(path: Path, options: Options) -> Checkpoint:
    """Read arrays, and their labels from the file itself or from ``entities.tsv`` and ``relations.tsv`` beside it.

    The option ``labels`` names another folder of label files, as for other formats.
    """
    file = find_checkpoint_file(path, [lambda file: file.suffix in ARRAYS], ".npz or .safetensors file")
    stored = _read_safetensors(file) if file.suffix == SAFE else NativeFile(read_npz(file))
    labels, label_files = _labels_of(file, stored, options)
    said = {"model": stored.model, "stored": stored.options, "reciprocal": stored.reciprocal}
    model = model_of_named(Tensors(file, stored.arrays), options, **said)
    entities, relations, times = (labels.get(kind) for kind in ("entity", "relation", "time"))
    labelled = ((file, *label_files), entities, relations, options.origins)
    return Checkpoint(model, "native", *labelled, times=times, **stored.details)


def _labels_of(file: Path, stored: NativeFile, options: Options) -> tuple[dict[str, Vocabulary], tuple[Path, ...]]:
    if (folder := options.resolve("labels", None, "")) is not None:
        found = find_labels(file.parent, Options({"labels": folder}))
        named = {"entity": found.entities, "relation": found.relations, "time": found.times}
        return {kind: labels for kind, labels in named.items() if labels is not None} | stored.labels, found.files
    beside = {"entity": file.with_name("entities.tsv"), "relation": file.with_name("relations.tsv")}
    files = {kind: path for kind, path in beside.items() if kind not in stored.labels and path.is_file()}
    return {**stored.labels, **{kind: read_labels(path, kind) for kind, path in files.items()}}, tuple(files.values())


def _read_safetensors(file: Path) -> NativeFile:
    tensors, metadata = read_safetensors(file)
    with readable(file, ".safetensors file"):
        options = _parse_json(metadata.get("options", "{}"), dict)
        reciprocal = _parse_json(metadata.get("reciprocal", "null"), (bool, NoneType))
        details = {
            "name": metadata.get("name"),
            "numbering": _numbering(metadata.get("numbering", "unknown")),
            "layouts": tuple(map(str, _parse_json(metadata.get("layouts", "[]"), list))),
            "lower_is_better": _parse_json(metadata.get("lower_is_better", "false"), bool),
        }
        budget = Budget(file, times=JSON)
        labels = {
            kind: _embedded_labels(tensors.pop(name), kind, budget) for name, kind in LABELS.items() if name in tensors
        }
    version = metadata.get("version", VERSION)
    if metadata.get("format") == FORMAT and version != VERSION:
        raise CheckpointError(f"{file}: version {version} of the native format; this kgeval reads version {VERSION}.")
    return NativeFile(tensors, labels, metadata.get("model"), options, reciprocal, details)


def _embedded_labels(encoded: np.ndarray[Any, Any], kind: str, budget: Budget) -> Vocabulary:
    budget.take(JSON * encoded.nbytes)
    labels = _parse_json(encoded.tobytes(), list)
    if not all(isinstance(label, str) for label in labels):
        raise ValueError(f"its {kind} labels are not all text")
    return Vocabulary(labels, kind)


def _parse_json(text: str | bytes, kind: type | tuple[type, ...]) -> Any:
    value = json.loads(text)
    if not isinstance(value, kind):
        raise ValueError(f"{str(value)[:40]!r} is not of type {getattr(kind, '__name__', 'bool')}")  # noqa: TRY004
    return value


def _numbering(text: str) -> Numbering:
    if text not in get_args(Numbering):
        raise ValueError(f"the numbering {text[:40]!r} is not one of {', '.join(get_args(Numbering))}")
    return cast("Numbering", text)


def _is_own(file: Path) -> bool:
    """Whether a file holds named arrays, and no other format knows it by their names."""
    others = (reader for reader in formats().values() if reader is not READER)
    return file.suffix in ARRAYS and not any(reader.recognises(file) for reader in others)


READER = Reader(
    name="native",
    summary=".safetensors or .npz with arrays entity and relation, labels inside or in entities.tsv, relations.tsv",
    recognises=lambda path: contains_file(path, _is_own) and not (path.is_dir() and has_table(path, *OF_QUERIES)),
    read=read,
)


FORMAT, VERSION = "kgeval", "1"
LABELS = {"entity_labels": "entity", "relation_labels": "relation", "time_labels": "time"}


def save_checkpoint(
    model: Checkpoint | Family | Reciprocal,
    path: str | Path,
    *,
    entities: Vocabulary | None = None,
    relations: Vocabulary | None = None,
) -> None:
    """Write a model in the native format; a failed write leaves nothing under that name.

    Parameters
    ----------
    model
        a model family, or a checkpoint, whose labels are written too
    path
        a file that ends in ``.safetensors``
    entities, relations
        the labels of the ids

    Raises
    ------
    InputError
        if the path ends otherwise
    CheckpointError
        if head queries and tail queries have different formulas, which the file cannot store; if the model was read
        without the dataset that says what its rows are; or if its entities have several types
    RunError
        if the file cannot be written

    Examples
    --------
    >>> import tempfile
    >>> from kgeval.scorers.families.bilinear import DistMult
    >>> from kgeval import load_checkpoint
    >>> model = DistMult(entity=np.ones((3, 2), np.float32), relation=np.ones((1, 2), np.float32))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(model, Path(folder) / "model.safetensors", entities=Vocabulary(["a", "b", "c"]))
    ...     load_checkpoint(Path(folder) / "model.safetensors").entities
    Vocabulary(3 entity labels)
    """
    path = Path(path)
    if path.suffix != ".safetensors":
        raise InputError(f"{str(path)!r}: the native format is a .safetensors file.")
    extra = {"numbering": "unknown", "lower_is_better": "false"}
    family = model.family if isinstance(model, Checkpoint | Reciprocal) else model
    times = None
    if isinstance(model, Checkpoint):
        scorer = _saveable(model)
        extra = {"numbering": model.numbering, "lower_is_better": json.dumps(model.lower_is_better)}
        extra |= {"layouts": json.dumps(model.layouts)} if model.layouts else {}
        extra |= {"name": model.name} if model.name else {}
        entities, relations, times = entities or model.entities, relations or model.relations, model.times
        model = scorer
    for labels, size in ((entities, model.num_entities), (relations, model.num_relations)):
        if labels is not None and len(labels) != size:
            raise InputError(f"{len(labels)} {labels.kind} labels for the model's {size} {labels.kind} rows.")
    if family is model:
        family.refuse_heads()
    tensors = {name: np.ascontiguousarray(array) for name, array in family.arrays.items()}
    for name, labels in zip(LABELS, (entities, relations, times), strict=True):
        if labels is not None:
            tensors[name] = np.frombuffer(json.dumps(list(labels), ensure_ascii=False).encode(), np.uint8)
    metadata = {
        "format": FORMAT,
        "version": VERSION,
        "model": family.name,
        "options": json.dumps(family.options),
        "reciprocal": json.dumps(isinstance(model, Reciprocal)),
        **extra,
    }
    _write(path, tensors, metadata)


def _write(path: Path, tensors: dict[str, np.ndarray[Any, Any]], metadata: dict[str, str]) -> None:
    """Write the same bytes each time, which the library of this format does not do."""
    header: dict[str, Any] = {"__metadata__": metadata}
    ordered = sorted(tensors.items(), key=lambda named: -named[1].itemsize)  # so that each begins where it may
    end = 0
    for name, array in ordered:
        begin, end = end, end + array.nbytes
        kind = "BOOL" if array.dtype == np.bool_ else f"{array.dtype.kind.upper()}{8 * array.itemsize}"
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(path) as partial, partial.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, array in ordered:
            file.write(array.astype(array.dtype.newbyteorder("<"), copy=False).data)


def _saveable(model: Checkpoint) -> Family | Reciprocal:
    """Return the scorer of a checkpoint; refuse one that a native file cannot hold."""
    if model.missing_without_dataset:
        raise CheckpointError(
            f"{model.files[0]}: the files do not say {model.missing_without_dataset}. Add the dataset: --dataset "
            "DATASET (in Python dataset=…)."
        )
    if isinstance(model.model, Typed):
        raise CheckpointError(
            f"{model.files[0]}: its entities have several types, which a native file cannot hold. Evaluate the "
            "checkpoint itself."
        )
    return model.model
