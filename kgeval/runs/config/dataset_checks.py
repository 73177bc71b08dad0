"""Checks of a configuration against its dataset, before a model is read or trained."""

from __future__ import annotations

from collections.abc import Iterator

from kgeval.data.dataset import Dataset
from kgeval.errors import DatasetError, InputError
from kgeval.runs.config.run_config import RunConfig
from kgeval.settings.messages import Location, Problem


def check_against_dataset(config: RunConfig, dataset: Dataset) -> RunConfig:
    """Refuse splits that the dataset lacks, negatives or types that do not fit it, and a task it is not made for.

    Returns
    -------
    RunConfig
        the configuration, whose task has read its negatives

    Raises
    ------
    ConfigError
        with all problems at once, each with its line
    """
    task, problems = config.task, [*_missing_splits(config, dataset), *_unfit_corruption(config, dataset)]
    try:
        task = None if task is None else task.prepare(dataset)
    except InputError as error:
        problems.append(Problem.of(("task",), error))
    problems += _nothing_to_train_on(config, dataset)
    if problems:
        raise config.document.refusal(problems)
    return config.model_copy(update={"task": task})


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


def _unfit_corruption(config: RunConfig, dataset: Dataset) -> Iterator[Problem]:
    evaluation = config.evaluation
    if config.task is not None or evaluation.split not in dataset.splits:
        return
    try:
        corruption = config.corruption(dataset)
        if corruption.files:
            corruption.check(dataset.split(evaluation.split), evaluation.sides, dataset)
    except DatasetError as error:
        said = "corruption" in evaluation.model_fields_set
        yield Problem.of(("evaluation", "corruption", "path") if said else ("protocol",), error)


def _nothing_to_train_on(config: RunConfig, dataset: Dataset) -> Iterator[Problem]:
    for name, model in config.jobs.items():
        if model.trains and "train" not in dataset.splits:
            yield Problem(("models", name) if name else ("model",), f"dataset {dataset.name} has no train triples")
