"""Checkpoints: model files of all frameworks, each format with a reader. ``load_checkpoint`` reads any of them.

Users, evaluations and commands give it a path and options; the reader of the format (in ``readers``) returns a
``Checkpoint`` (``checkpoint.py``). The other files have what readers share: finding files (``locate.py``), labels,
tensors, arrays, options, and a model made of named arrays (``building.py``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.errors import CheckpointError, InputError, UsageError, refuse_unknown
from kgeval.base.files import exists_safely, refuse_special, suggest_paths
from kgeval.data import History
from kgeval.data.dataset import Dataset
from kgeval.data.loading import as_dataset
from kgeval.models.alignment import IDS, align, with_sorted_labels
from kgeval.models.baselines import Baseline
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.number_orders import refuse_other_order
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import NAMED_BY_USER, Reader, formats, recognise

__all__ = ["Checkpoint", "as_model", "load_checkpoint", "read_checkpoint"]


def load_checkpoint(
    path: str | Path,
    *,
    dataset: Dataset | str | Path | None = None,
    format: str | Reader = "auto",
    nan: str = "error",
    **options: Any,
) -> Checkpoint:
    """Read a model from the files that a framework wrote. Nothing in them is executed.

    Parameters
    ----------
    path
        a file or a folder
    dataset
        the dataset of the evaluation, its folder or its PyKEEN name. Its labels are compared with the model's, and are
        used for models whose framework stores none
    format
        ``"auto"`` recognises the format from the files; or a name that ``kgeval list formats`` shows; or a
        :class:`kgeval.Reader`
    nan
        ``"error"`` refuses parameters that are not finite; ``"worst"`` accepts them, for ``evaluate(nan="worst")``
    options
        what the files do not contain, under the framework's names: ``model="TransE"``, ``p_norm=1``. In the native
        format the names are those of the model family: ``norm=1``. ``labels="FOLDER"`` is the folder of the labels if
        they are not beside the model. ``ids="dataset"`` means that a model without labels has the ids of the dataset.
        ``Checkpoint.origins`` shows the source of every option

    Raises
    ------
    CheckpointError
        if the files are missing, damaged, incomplete or in no known format; the message says what to do

    Examples
    --------
    >>> load_checkpoint("no-such-model.npz")
    Traceback (most recent call last):
    kgeval.base.errors.CheckpointError: no such file or folder 'no-such-model.npz'.
    """
    if not isinstance(path, str | os.PathLike):
        raise CheckpointError(f"expected the path of a checkpoint (a file or a folder), found {path!r:.60}.")
    known = None if dataset is None else as_dataset(dataset)
    return read_checkpoint(Path(path), options, dataset=known, format=format, nan=nan)


def as_model(model: Any, dataset: Dataset, *, nan: str = "error", history: History | None = None) -> Any:
    """Return a model as it is, load the checkpoint at a path, or fit a baseline to a dataset."""
    if isinstance(model, Baseline):
        return model.fit(dataset, history=history)
    return load_checkpoint(Path(model), dataset=dataset, nan=nan) if isinstance(model, str | os.PathLike) else model


def read_checkpoint(
    path: Path,
    options: Mapping[str, Any],
    *,
    dataset: Dataset | None = None,
    format: str | Reader = "auto",
    nan: str = "error",
) -> Checkpoint:
    """Read a model as :func:`load_checkpoint` does, with options of any name."""
    refuse_special(path)
    if not exists_safely(path):
        raise CheckpointError(f"no such file or folder {str(path)!r}. {suggest_paths(path)}".strip())
    refuse_unknown("unknown policy nan", nan, ["error", "worst"], CheckpointError)
    user_options = Options(options, dataset)
    reader = _reader(path, format, options)
    try:
        with np.errstate(all="ignore"):  # arrays with numbers that are not finite are refused below, by their names
            checkpoint = reader.read(path, user_options)
    except Exception as error:
        user_options.refuse_missing()  # the error may only come from the value assumed for a missing option
        if isinstance(error, InputError) and not isinstance(error, CheckpointError):
            raise CheckpointError(str(error)) from error
        raise
    user_options.refuse_missing()
    if not isinstance(checkpoint, Checkpoint):
        raise CheckpointError(f"{path}: the reader {reader.name!r} returned {checkpoint!r:.60}; expected a Checkpoint.")
    ids = user_options.resolve("ids", None, "")
    user_options.refuse_unused(path)
    checkpoint = replace(checkpoint, assumptions=(*checkpoint.assumptions, *user_options.assumptions))
    if ids not in (None, *IDS):
        raise UsageError(f"ids={ids!r}: expected {' or '.join(f'ids={order}' for order in IDS)}.")
    if ids is not None:
        checkpoint = checkpoint.with_ids(ids)
    checkpoint = checkpoint if dataset is None else with_sorted_labels(checkpoint, dataset)
    if nan == "error":
        checkpoint.refuse_nonfinite()
    if dataset is not None:
        align(checkpoint, dataset)
        if checkpoint.format in ("native", NAMED_BY_USER):
            refuse_other_order(checkpoint, dataset, options)
    return checkpoint


def _reader(path: Path, format: str | Reader, options: Iterable[str]) -> Reader:
    if isinstance(format, Reader):
        return format
    name = str(format).lower()
    refuse_unknown("unknown checkpoint format", name, ["auto", *formats()], UsageError, listed="formats")
    return recognise(path, options) if name == "auto" else formats()[name]
