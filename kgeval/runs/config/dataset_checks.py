"""Misfits: what a configuration asks of its dataset and the dataset does not have, found before a model is trained."""

from __future__ import annotations

from collections.abc import Iterator

from kgeval.data.dataset import Dataset
from kgeval.data.known import known_answers
from kgeval.errors import DatasetError, InputError
from kgeval.runs.config.models import TrainingConfig
from kgeval.runs.config.run_config import RunConfig
from kgeval.settings.messages import Location, Problem


def check_against_dataset(config: RunConfig, dataset: Dataset) -> RunConfig:
    """Refuse splits that the dataset lacks, negatives or types that do not fit it, and a task it is not made for.

    Returns
    -------
    RunConfig
        the configuration, with the files of its corruption read

    Raises
    ------
    ConfigError
        with all problems at once, each with its line
    """
    found = list(_missing_splits(config, dataset))
    try:
        config = _with_negatives(config, dataset)
    except DatasetError as error:
        said = "corruption" in config.evaluation.model_fields_set
        found.append(Problem.of(("evaluation", "corruption", "path") if said else ("protocol",), error))
    found += [*_unfit_for_task(config, dataset), *_nothing_to_train_on(config, dataset)]
    if found:
        raise config.document.refusal(found)
    return config


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


def _with_negatives(config: RunConfig, dataset: Dataset) -> RunConfig:
    """Read the files of the corruption, and refuse those that fit none of the queries."""
    evaluation = config.evaluation
    if config.task is not None or evaluation.split not in dataset.splits:
        return config
    corruption = config.resolved_evaluation(dataset).evaluation.corruption
    if not corruption.files:
        return config
    corruption = corruption.prepare(dataset)
    for side in evaluation.sides:
        queries = corruption.queries(dataset.split(evaluation.split), side)
        corruption.choose(queries, known_answers(queries, []), dataset)
    return config.model_copy(update={"evaluation": evaluation.model_copy(update={"corruption": corruption})})


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
