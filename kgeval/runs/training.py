"""Train a model with PyKEEN, save it, and read it back: what is evaluated is the saved checkpoint."""

from __future__ import annotations

import gc
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kgeval.checkpoints import load_checkpoint
from kgeval.checkpoints.readers.pykeen.pykeen_reader import NoFormula
from kgeval.data.dataset import Dataset
from kgeval.data.layouts.pykeen_layout import to_factories
from kgeval.errors import FileError, RunError
from kgeval.files.opening import read_settings
from kgeval.run_directory.contents import MODEL, as_json
from kgeval.run_directory.staging import TRAINED
from kgeval.runs.config.models import TrainingConfig
from kgeval.scorers.adapters.live_model import PyKEENScorer
from kgeval.scorers.scorer import Scorer, VectorScorer
from kgeval.storage.atomic import replacing_folder, write_text


def train(config: TrainingConfig, dataset: Dataset, stage: Path) -> Scorer | VectorScorer:
    """Train through ``pykeen.pipeline.pipeline``, and save the result into the folder ``model`` on a run's stage.

    A model that the very same training left there, whose run was interrupted later, is taken as it is.

    Returns
    -------
    Scorer | VectorScorer
        the saved checkpoint, or the live model where kgeval has no formula for its interaction

    Raises
    ------
    RunError
        if PyKEEN refuses the configuration or fails, or if the result cannot be saved; an earlier one is then kept
    """
    done = as_json(
        {"training": config.model_dump(mode="json"), "dataset": dataset.sha256(), "pykeen": version("pykeen")}
    )
    if _text_of(stage / TRAINED) == done:
        return load_checkpoint(stage / MODEL, dataset=dataset)
    (stage / TRAINED).unlink(missing_ok=True)
    with _wrap_pykeen_errors(f"PyKEEN could not train {config.model}"), _quietly(), _frozen_gc():
        result = _fit(config, dataset)
    saving = _wrap_pykeen_errors(f"PyKEEN could not save {config.model}")
    with replacing_folder(stage / MODEL) as partial, saving, _quietly():
        result.save_to_directory(partial)
    try:
        checkpoint = load_checkpoint(stage / MODEL, dataset=dataset)
    except NoFormula:
        return PyKEENScorer(result.model)
    write_text(stage / TRAINED, done)
    return checkpoint


def _text_of(path: Path) -> str | None:
    """Read a text of settings; nothing where there is none, or no such text."""
    try:
        return read_settings(path)
    except (OSError, ValueError, FileError):
        return None


def _fit(config: TrainingConfig, dataset: Dataset) -> Any:
    import torch
    from pykeen.pipeline import pipeline

    from kgeval.pykeen import KGEvalEvaluator

    factories = to_factories(dataset, inverse=config.create_inverse_triples)
    given = config.model_dump(exclude={"kind", "create_inverse_triples"}, exclude_none=True)
    given["training_kwargs"] = {"use_tqdm": sys.stderr is not None and sys.stderr.isatty(), **config.training_kwargs}
    given["device"] = config.device or ("cuda" if torch.cuda.is_available() else "cpu")
    return pipeline(
        # Whoever stops early asks kgeval; a model that diverged is as bad as can be.
        evaluator=KGEvalEvaluator(nan="worst") if config.stopper else None,
        training=factories["train"],
        validation=factories.get("valid"),
        # The pipeline insists on evaluating what it trained. One triple is enough: kgeval does the rest.
        testing=_first_triple([*factories.values()][-1]),
        evaluation_kwargs={"use_tqdm": False, "batch_size": 1},
        **given,
    )


@contextmanager
def _wrap_pykeen_errors(what: str) -> Iterator[None]:
    """Tell what PyKEEN raises as one message: it checks its arguments while it works, with every kind of exception."""
    try:
        yield
    except OSError:  # a full disk is told by whoever opened the file
        raise
    except Exception as error:
        raise RunError(f"{what}: {type(error).__name__}: {error}") from error


@contextmanager
def _frozen_gc() -> Iterator[None]:
    """Take what is there already from the garbage collector, which PyKEEN calls after every epoch."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep back what PyKEEN announces of every step, and that a CPU is no GPU; what goes wrong still comes through."""
    loggers = {"pykeen": logging.WARNING, "torch_max_mem": logging.ERROR}
    before = {name: logging.getLogger(name).level for name in loggers}
    try:
        for name, level in loggers.items():
            logging.getLogger(name).setLevel(level)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*pin_memory.*")
            yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def _first_triple(factory: Any) -> Any:
    return factory.clone_and_exchange_triples(factory.mapped_triples[:1])
