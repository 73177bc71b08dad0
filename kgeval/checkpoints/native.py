"""The native format: one safetensors file with everything inside.

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
whether the framework's own evaluator takes the lowest score for the best) and, if it is another than the family's,
``name`` (what its framework calls the model). All but ``model`` may be missing: then there are no options, nothing is
true, and the numbering is unknown.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import CheckpointError, InputError, RunError
from kgeval.scorers.family import Family
from kgeval.scorers.mapped import Reciprocal, Typed
from kgeval.storage.atomic import replacing

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
        a model family, or a checkpoint, whose labels are taken along
    path
        a file that ends in ``.safetensors``
    entities, relations
        the labels of the ids

    Raises
    ------
    InputError
        if the path ends otherwise
    CheckpointError
        if the model's head queries and tail queries follow different formulas, which no reader could tell; or if
        only the dataset, which it was read without, tells what its rows are; or if its entities are of several types
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
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

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
    with replacing(path) as partial:
        partial.touch()
        mode = partial.stat().st_mode  # what other files here get; safetensors would keep the file to its owner
        try:
            save_file(tensors, partial, metadata)
            partial.chmod(mode)
        except SafetensorError as error:
            raise RunError(f"cannot write {str(path)!r}: {error}. Nothing was left under that name.") from error


def _saveable(model: Checkpoint) -> Family | Reciprocal:
    """Return the scorer of a checkpoint, unless a native file could not hold all that it is."""
    if model.missing_without_dataset:
        raise CheckpointError(
            f"{model.files[0]}: only the dataset tells {model.missing_without_dataset}. Give it: "
            "--dataset DATASET, or load_checkpoint(…, dataset=…)."
        )
    if isinstance(model.model, Typed):
        raise CheckpointError(
            f"{model.files[0]}: its entities are of several types, which a native file does not hold. Evaluate the "
            "checkpoint itself."
        )
    return model.model
