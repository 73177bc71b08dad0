"""Misfits: what a configuration asks of its dataset and the dataset does not have, found before a model is trained."""

from __future__ import annotations

from collections.abc import Iterator

from kgeval.data.dataset import Dataset
from kgeval.errors import DatasetError, InputError
from kgeval.runs.config.models import TrainingConfig
from kgeval.runs.config.run_config import RunConfig
from kgeval.settings.messages import Location, Problem


def check_against_dataset(config: RunConfig, dataset: Dataset) -> None:
    """Refuse splits that the dataset lacks, negatives or types that do not fit it, and a task it is not made for.

    Raises
    ------
    ConfigError
        with all problems at once, each with its line
    """
    found = [
        *_missing_splits(config, dataset),
        *_strange_negatives(config, dataset),
        *_unfit_for_task(config, dataset),
        *_nothing_to_train_on(config, dataset),
    ]
    if found:
        raise config.document.refusal(found)


def _missing_splits(config: RunConfig, dataset: Dataset) -> Iterator[Problem]:
    evaluation = config.evaluation
    if config.task is not None:
        return
    wanted: dict[Location, str] = {("evaluation", "split"): evaluation.split}
    if "filter" in evaluation.model_fields_set:
        wanted |= {("evaluation", "filter", index): split for index, split in enumerate(evaluation.filter)}
    for location, split in wanted.items():
        try:
            dataset.split(split)
        except DatasetError as error:
            yield Problem.of(location, error)


def _strange_negatives(config: RunConfig, dataset: Dataset) -> Iterator[Problem]:
    evaluation = config.evaluation
    if config.task is not None or evaluation.split not in dataset.splits:
        return
    try:
        corruption = config.resolved_evaluation(dataset).evaluation.corruption
        if corruption.files:
            corruption.check(dataset.split(evaluation.split), evaluation.sides, dataset)
    except DatasetError as error:
        said = "corruption" in evaluation.model_fields_set
        yield Problem.of(("evaluation", "corruption", "path") if said else ("protocol",), error)


def _unfit_for_task(config: RunConfig, dataset: Dataset) -> Iterator[Problem]:
    if config.task is None:
        return
    try:
        config.task.parts(dataset)
    except InputError as error:
        yield Problem.of(("task",), error)


def _nothing_to_train_on(config: RunConfig, dataset: Dataset) -> Iterator[Problem]:
    for name, job in config.jobs.items():
        if isinstance(job, TrainingConfig) and "train" not in dataset.splits:
            yield Problem(("models", name) if name else ("model",), f"dataset {dataset.name} has no train triples")
