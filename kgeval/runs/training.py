"""Train a model with PyKEEN, save it, and read it back: what is evaluated is the saved checkpoint."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kgeval.checkpoints import load_checkpoint
from kgeval.checkpoints.readers.pykeen import NoFormula
from kgeval.errors import RunError
from kgeval.graph.dataset import Dataset
from kgeval.graph.readers.pykeen import to_factories
from kgeval.runs.config import TrainingConfig
from kgeval.scorers.base import Scorer, VectorScorer
from kgeval.scorers.live import PyKEENScorer


def train(config: TrainingConfig, dataset: Dataset, folder: Path) -> Scorer | VectorScorer:
    """Train through ``pykeen.pipeline.pipeline`` and save the result into a folder.

    Returns
    -------
    Scorer | VectorScorer
        the saved checkpoint, or the live model where kgeval has no formula for its interaction

    Raises
    ------
    RunError
        if PyKEEN refuses the configuration or fails
    """
    from pykeen.pipeline import pipeline

    factories = to_factories(dataset, inverse=config.create_inverse_triples)
    given = config.model_dump(exclude={"kind", "create_inverse_triples"}, exclude_none=True)
    given["training_kwargs"] = {"use_tqdm": sys.stderr.isatty(), **config.training_kwargs}
    try:
        with _quietly():
            result = pipeline(
                training=factories["train"],
                validation=factories.get("valid"),
                # The pipeline insists on evaluating what it trained. One triple is enough: kgeval does the rest.
                testing=_first_triple(factories["test"]),
                evaluation_kwargs={"use_tqdm": False, "batch_size": 1},
                **given,
            )
            result.save_to_directory(folder)
    except Exception as error:  # PyKEEN checks its keyword arguments while it works, with every kind of exception
        raise RunError(f"PyKEEN could not train {config.model}: {type(error).__name__}: {error}") from error
    try:
        return load_checkpoint(folder, dataset=dataset)
    except NoFormula:
        return PyKEENScorer(result.model)


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
