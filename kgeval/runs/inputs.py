"""Inputs: the files that a result rests on; those of several models are all read before the first of them is ranked."""

from __future__ import annotations

from pathlib import Path

from kgeval.checkpoints import Checkpoint, load_checkpoint
from kgeval.checkpoints.readers.pykeen.pykeen_reader import NoFormula
from kgeval.data.dataset import Dataset
from kgeval.errors import InputError
from kgeval.ranking.ranking_notes import check_unseen
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


def read_inputs(config: RunConfig, dataset: Dataset, folders: dict[str, Path | None]) -> dict[str, dict[str, str]]:
    """Read every model once, and take the SHA-256 of its inputs, before any work is done.

    Returns
    -------
    dict[str, dict[str, str]]
        by model: the SHA-256 by file

    Raises
    ------
    ConfigError
        with all models that cannot be read or do not fit the dataset, each with its name and line
    """
    found, problems = {}, []
    for name, job in config.jobs.items():
        try:
            scorer = _scorer(job, config, dataset) if isinstance(job, CheckpointConfig) else _trained(folders[name])
        except InputError as error:
            problems.append(Problem.of(("models", name), error))
        else:
            found[name] = sha256_of_files(input_files(config, dataset, scorer))
    if problems:
        raise config.document.refusal(problems)
    return found


def _scorer(job: CheckpointConfig, config: RunConfig, dataset: Dataset) -> Checkpoint:
    checkpoint = job.load(dataset, nan=config.evaluation.nan)
    if config.task is None:
        check_unseen(checkpoint, dataset, config.evaluation)
    return checkpoint


def _trained(folder: Path | None) -> Checkpoint | None:
    """Read a model that an earlier run trained, if it is there and kgeval has a formula for it."""
    if folder is None or not (folder / MODEL).is_dir():
        return None
    try:
        return load_checkpoint(folder / MODEL)
    except NoFormula:
        return None
