"""The native format, read and written: one safetensors file with the arrays and the labels of a model.

A plain ``.safetensors`` or ``.npz`` of arrays under the same names is read too. ``load_checkpoint`` calls the reader: a
path and the user's options become a ``Checkpoint``. ``save_checkpoint`` writes the format.

The format
----------
==================  ====================================================================================================
tensor              content
==================  ====================================================================================================
entity, relation…   the arrays of the model family, under their names, in their precision (float16, float32 or float64);
                    complex vectors as halves [re | im]; a reciprocal model's relations are R rows, then their inverses
entity_labels       uint8, a JSON list of the entity labels in UTF-8 (may be missing)
relation_labels     likewise, of the relation labels
time_labels         likewise, of a temporal model's times
==================  ====================================================================================================

Its metadata are strings: ``format`` ("kgeval"), ``version`` ("1"), ``model`` (the family), ``options`` (a JSON object),
``reciprocal`` ("true" or "false"), ``numbering`` (the meaning of ids without labels: "dataset", the ids of the dataset;
"sorted", the places of its sorted labels; "files", the ids in the files of its framework; "unknown"), ``layouts`` (a
JSON list of the layouts of datasets that have such files, if there are any), ``lower_is_better`` ("true" or "false":
whether the framework's own evaluator ranks the lowest score first). ``name`` is the framework's name of the model, if
the family has another name. All but ``model`` may be missing: then there are no options, nothing is true, and the
numbering is unknown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Json, ValidationError

from kgeval.base.arrays import FloatArray
from kgeval.base.errors import CheckpointError, InputError
from kgeval.base.files import JSON, Budget
from kgeval.base.setting_problems import problems_of
from kgeval.base.storage import replacing
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.checkpoints.building import model_of_named
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.labels import NATIVE, CheckpointLabels, find_labels
from kgeval.models.checkpoints.locate import contains_file, find_checkpoint_file, readable
from kgeval.models.checkpoints.mapped_arrays import ARRAYS, SAFE, read_npz, read_safetensors
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader, formats
from kgeval.models.checkpoints.readers.arrays import has_rows_of_queries
from kgeval.models.checkpoints.tensors import Tensors
from kgeval.models.family import Family
from kgeval.models.mapped import Reciprocal, Typed
from kgeval.models.scorer import Numbering

FORMAT, VERSION = "kgeval", "1"

LABELS = {"entity_labels": "entity", "relation_labels": "relation", "time_labels": "time"}
"""the tensors that hold labels, and what each labels"""


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
    >>> from kgeval.models.families.bilinear import DistMult
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
    if not isinstance(model, Checkpoint):
        model = Checkpoint(model, "native", (path,))
    model = replace(model, entities=entities or model.entities, relations=relations or model.relations)
    family, scorer = model.family, _saveable(model)
    if family is scorer:
        family.refuse_heads()
    tensors = {name: np.ascontiguousarray(array) for name, array in family.arrays.items()}
    for name, labels in zip(LABELS, (model.entities, model.relations, model.times), strict=True):
        if labels is not None:
            tensors[name] = np.frombuffer(json.dumps(list(labels), ensure_ascii=False).encode(), np.uint8)
    metadata = {
        "format": FORMAT,
        "version": VERSION,
        "model": family.name,
        "options": json.dumps(family.options),
        "reciprocal": json.dumps(isinstance(scorer, Reciprocal)),
        "numbering": model.numbering,
        "lower_is_better": json.dumps(model.lower_is_better),
    }
    metadata |= {"layouts": json.dumps(model.layouts)} if model.layouts else {}
    metadata |= {"name": model.name} if model.name else {}
    _write(path, tensors, metadata)


def _saveable(model: Checkpoint) -> Family | Reciprocal:
    """Return the scorer of a checkpoint; refuse one that a native file cannot hold."""
    if model.missing_without_dataset:
        fault = f"the files do not say {model.missing_without_dataset}"
        raise CheckpointError(f"{model.files[0]}: {fault}. Add the dataset: --dataset DATASET (in Python dataset=…).")
    if isinstance(model.model, Typed):
        raise CheckpointError(f"{model.files[0]}: its entities have several types, which a native file cannot hold.")
    return model.model


def _write(path: Path, tensors: dict[str, np.ndarray[Any, Any]], metadata: dict[str, str]) -> None:
    """Write the file: the same bytes for the same model, which the safetensors library does not do."""
    header: dict[str, Any] = {"__metadata__": metadata}
    ordered = sorted(tensors.items(), key=lambda named: -named[1].itemsize)  # so that every array is aligned
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


def read(path: Path, options: Options) -> Checkpoint:
    """Read arrays, and their labels from the file itself or from ``entities.tsv`` and ``relations.tsv`` beside it.

    The option ``labels`` names another folder of label files, as for other formats.
    """
    file = find_checkpoint_file(path, [lambda file: file.suffix in ARRAYS], ".npz or .safetensors file")
    arrays, about = read_safetensors(file) if file.suffix == SAFE else (read_npz(file), {})
    stored = _metadata(file, arrays, about)
    of_model = {"model": stored.model, "stored": stored.options, "reciprocal": stored.reciprocal}
    model = model_of_named(Tensors(file, arrays), options, **of_model)
    details = stored.model_dump(include={"name", "numbering", "layouts", "lower_is_better"})
    return _labels_of(file, stored, options).checkpoint(model, "native", [file], options, **details)


def _is_own(file: Path) -> bool:
    """Whether a file holds named arrays, and no other format knows it by their names."""
    others = (reader for reader in formats().values() if reader is not READER)
    return file.suffix in ARRAYS and not any(reader.recognises(file) for reader in others)


READER = Reader(
    name="native",
    summary=".safetensors or .npz with arrays entity and relation, labels inside or in entities.tsv, relations.tsv",
    recognises=lambda path: contains_file(path, _is_own) and not (path.is_dir() and has_rows_of_queries(path)),
    read=read,
)


class Metadata(BaseModel):
    """What a file says of its arrays, and the labels in it."""

    model_config = ConfigDict(frozen=True, strict=True)

    format: str | None = None
    version: str = VERSION
    model: str | None = None
    options: Json[dict[str, Any]] = {}
    reciprocal: Json[bool | None] = None
    name: str | None = None
    numbering: Numbering = "unknown"
    layouts: Json[tuple[str, ...]] = ()
    lower_is_better: Json[bool] = False
    entity_labels: Json[list[str]] | None = None
    relation_labels: Json[list[str]] | None = None
    time_labels: Json[list[str]] | None = None


def _metadata(file: Path, arrays: dict[str, FloatArray], said: Mapping[str, Any]) -> Metadata:
    """Check the metadata of a file, ``said``; take the tensors with labels out of ``arrays`` into the metadata."""
    budget = Budget(file, times=JSON)
    encoded = {name: arrays.pop(name) for name in LABELS if name in arrays and file.suffix == SAFE}
    budget.take(JSON * sum(array.nbytes for array in encoded.values()))
    said = {**said, **{name: array.tobytes() for name, array in encoded.items()}}
    try:
        stored = Metadata(**said)
    except ValidationError as error:
        problem = problems_of(error, said, Metadata)[0]
        raise CheckpointError(f"{file}: not a readable {SAFE} file, or cut short: {problem}") from error
    if stored.format == FORMAT and stored.version != VERSION:
        raise CheckpointError(f"{file}: version {stored.version} of the native format; kgeval reads version {VERSION}.")
    return stored


def _labels_of(file: Path, stored: Metadata, options: Options) -> CheckpointLabels:
    """Take the labels in the file, or else the labels beside it or in the folder of the option ``labels``."""
    with readable(file, f"{SAFE} file"):
        inside = {
            kind: Vocabulary(labels, kind)
            for name, kind in LABELS.items()
            if (labels := getattr(stored, name)) is not None
        }
    complete = inside.keys() >= {"entity", "relation"}
    beside = find_labels(file.parent, options, [] if complete or options.given("labels") else [NATIVE])
    entities, relations = inside.get("entity", beside.entities), inside.get("relation", beside.relations)
    return CheckpointLabels(entities, relations, beside.files, inside.get("time", beside.times))
