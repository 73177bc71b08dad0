"""Trainings: PyKEEN trains a model and saves it in the run directory; kgeval evaluates the saved checkpoint.

A job of the runner calls ``train``: in go the block of the model, the dataset and the stage of the run, which is the
folder that becomes the run directory; out comes a scorer.
"""

from __future__ import annotations

import gc
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kgeval.base.errors import FileError, RunError
from kgeval.base.files import read_settings
from kgeval.base.storage import replacing_folder, write_text
from kgeval.data.dataset import Dataset
from kgeval.data.layouts.pykeen import to_factories
from kgeval.models.adapters.live_models import PyKEENScorer, mode_of_pykeen
from kgeval.models.alignment import align
from kgeval.models.checkpoints import load_checkpoint
from kgeval.models.checkpoints.readers.pykeen_modules import NoFormula
from kgeval.models.scorer import Scorer, VectorScorer
from kgeval.runs.config.models import TrainingConfig
from kgeval.stored.contents import MODEL, as_json
from kgeval.stored.staging import TRAINED


def train(config: TrainingConfig, dataset: Dataset, stage: Path) -> Scorer | VectorScorer:
    """Train with ``pykeen.pipeline.pipeline``, and save the result in the folder ``model`` of a run's stage.

    A model that the same training of an interrupted run left there is loaded, not trained again. Returned is the saved
    checkpoint, or the live model where kgeval has no formula for its interaction.
    """
    training = as_json([config.model_dump(mode="json"), dataset.sha256(), version("pykeen")])
    stored = None
    with suppress(OSError, ValueError, FileError):  # missing or damaged
        stored = read_settings(stage / TRAINED)
    if stored == training:
        return load_checkpoint(stage / MODEL, dataset=dataset)
    (stage / TRAINED).unlink(missing_ok=True)
    with _wrap_pykeen_errors(f"PyKEEN could not train {config.model}"), _quietly(), frozen_gc():
        result = _fit(config, dataset)
    saving = _wrap_pykeen_errors(f"PyKEEN could not save {config.model}")
    with replacing_folder(stage / MODEL) as partial, saving, _quietly():
        result.save_to_directory(partial)
    try:
        checkpoint = load_checkpoint(stage / MODEL, dataset=dataset)
    except NoFormula:
        # Without the file TRAINED: a live model cannot be loaded again, so after an interruption it is trained anew.
        mode = mode_of_pykeen(dataset, result.model)
        if mode is None:
            return PyKEENScorer(result.model)
        from kgeval.pykeen import scorer_of

        # An inductive model's own functions make its vectors anew for every batch; it learned the ids of the dataset.
        scorer = scorer_of(result.model, mode=mode)
        return align(scorer, dataset, entities=dataset.entities, relations=dataset.relations)
    write_text(stage / TRAINED, training)
    return checkpoint


def _fit(config: TrainingConfig, dataset: Dataset) -> Any:
    import torch
    from pykeen.pipeline import pipeline

    from kgeval.pykeen import KGEvalEvaluator

    factories = to_factories(dataset, inverse=config.create_inverse_triples)
    last = [*factories.values()][-1]
    arguments = config.model_dump(exclude={"kind", "create_inverse_triples"}, exclude_none=True)
    use_tqdm = sys.stderr is not None and sys.stderr.isatty()
    arguments["training_kwargs"] = {"use_tqdm": use_tqdm, **config.training_kwargs}
    arguments["device"] = config.device or ("cuda" if torch.cuda.is_available() else "cpu")
    # Early stopping uses kgeval's ranks; a model that diverged, with scores of NaN, ranks worst.
    arguments["evaluator"] = KGEvalEvaluator(nan="worst") if config.stopper else None
    arguments["training"] = factories["train"]
    if dataset.training_graph is not None:
        arguments |= _of_two_graphs(config, dataset, dataset.training_graph)
    return pipeline(
        validation=factories.get("valid"),
        # The pipeline always evaluates what it trained. One triple is enough: kgeval evaluates the rest.
        testing=last.clone_and_exchange_triples(last.mapped_triples[:1]),
        evaluation_kwargs={"use_tqdm": False, "batch_size": 1},
        **arguments,
    )


def _of_two_graphs(config: TrainingConfig, dataset: Dataset, learned: Dataset) -> dict[str, Any]:
    """The arguments by which PyKEEN learns from one graph and evaluates on another; inverse triples are needed."""
    from kgeval.pykeen import KGEvalEvaluator

    inference = to_factories(dataset, inverse=True)["train"]
    return {
        "training": to_factories(replace(learned, relations=dataset.relations), inverse=True)["train"],
        "training_loop_kwargs": {"mode": "training"},
        "model_kwargs": {"inference_factory": inference, **config.model_kwargs},
        "evaluator": KGEvalEvaluator(nan="worst", mode="testing", inference=inference),
    }


@contextmanager
def _wrap_pykeen_errors(failure: str) -> Iterator[None]:
    """Raise what PyKEEN raises as a RunError: it checks its arguments late, with every kind of exception."""
    try:
        yield
    except OSError:  # such as a full disk, which has a message of its own
        raise
    except Exception as error:
        raise RunError(f"{failure}: {type(error).__name__}: {error}") from error


@contextmanager
def frozen_gc() -> Iterator[None]:
    """Exclude existing objects from garbage collection, which PyKEEN calls after every epoch."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def _quietly() -> Iterator[None]:
    """Hide PyKEEN's messages below warnings, and its warnings that a CPU is no GPU."""
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
