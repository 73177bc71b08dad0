"""Inputs: the files that a result rests on; those of several models are all read before the first of them is ranked."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from kgeval.checkpoints import Checkpoint, load_checkpoint, read_checkpoint
from kgeval.checkpoints.readers.pykeen.pykeen_reader import NoFormula
from kgeval.data.dataset import Dataset
from kgeval.errors import CheckpointError, InputError, KgevalError, RunError, UsageError
from kgeval.run_directory.contents import MODEL, sha256_of_files
from kgeval.runs.config.models import CheckpointConfig
from kgeval.runs.config.run_config import RunConfig
from kgeval.runs.run_task import negatives_of
from kgeval.scorers.scorer import Scorer, VectorScorer
from kgeval.settings.messages import Problem


def input_files(config: RunConfig, dataset: Dataset, scorer: Scorer | VectorScorer | None) -> list[Path]:
    """List the files that a result rests on: of the dataset, the model (but a live one has none) and the negatives."""
    negatives = config.evaluation.corruption.files if config.task is None else negatives_of(config.task)[0]
    return [*dataset.files, *(scorer.files if isinstance(scorer, Checkpoint) else ()), *negatives]


@dataclass(frozen=True)
class Inputs:
    """What was read of several models."""

    sha256: dict[str, dict[str, str]] = field(default_factory=dict)
    """by model: the SHA-256 by file"""
    unreadable: dict[str, KgevalError] = field(default_factory=dict)
    """by model: why its files cannot be read"""


def read_inputs(config: RunConfig, dataset: Dataset, folders: dict[str, Path | None]) -> Inputs:
    """Read every model once, and take the SHA-256 of its inputs, before any work is done.

    Raises
    ------
    ConfigError
        with all models that are not used as they can be: whose path, format or options are wrong, or that do not fit
        the dataset, each with its name and line
    """
    found, problems = Inputs(), []
    for name, job in config.jobs.items():
        try:
            scorer = _scorer(job, config, dataset) if isinstance(job, CheckpointConfig) else _trained(folders[name])
            found.sha256[name] = sha256_of_files(input_files(config, dataset, scorer))
        except OSError as error:
            found.unreadable[name] = RunError(f"{error.filename}: {error.strerror}.")
        except InputError as error:
            damaged = isinstance(error, CheckpointError) and not isinstance(error, UsageError)
            if damaged and isinstance(job, CheckpointConfig):
                found.unreadable[name] = error
            else:
                problems.append(Problem.of(("models", name), error))
    if problems:
        raise config.document.refusal(problems)
    return found


def read_model(job: CheckpointConfig, config: RunConfig, dataset: Dataset) -> Checkpoint:
    """Read a model as the configuration says."""
    return read_checkpoint(Path(job.path), job.options, dataset=dataset, format=job.format, nan=config.evaluation.nan)


def _scorer(job: CheckpointConfig, config: RunConfig, dataset: Dataset) -> Checkpoint:
    checkpoint = read_model(job, config, dataset)
    if config.task is None:
        config.evaluation.check(checkpoint, dataset)
    return checkpoint


def _trained(folder: Path | None) -> Checkpoint | None:
    """Read a model that an earlier run trained, if it is there and kgeval has a formula for it."""
    if folder is None or not (folder / MODEL).is_dir():
        return None
    try:
        return load_checkpoint(folder / MODEL)
    except NoFormula:
        return None
