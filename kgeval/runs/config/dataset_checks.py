"""Checks of a configuration against its dataset, before any model is read or trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kgeval.analysis.slices.slice import slices
from kgeval.baselines.baseline import Baseline
from kgeval.data.dataset import Dataset
from kgeval.data.known import known_answers
from kgeval.errors import DatasetError, InputError
from kgeval.ranking.rank_table import TIME
from kgeval.runs.config.models import TrainingConfig
from kgeval.runs.config.pykeen_components import has_device, scores_new_entities
from kgeval.runs.config.run_config import RunConfig
from kgeval.settings.messages import Location, Problem


def check_against_dataset(config: RunConfig, dataset: Dataset) -> RunConfig:
    """Refuse missing splits and slices, negatives or types that do not fit the dataset, and unfit tasks.

    The returned configuration has a corruption and a task that have read their files.
    """
    problems = [*_missing_splits(config, dataset), *_impossible_slices(config, dataset)]
    try:
        config = _with_negatives(config, dataset)
    except DatasetError as error:
        explicit = "corruption" in config.evaluation.model_fields_set
        problems.append(Problem.of(("evaluation", "corruption", "path") if explicit else ("protocol",), error))
    try:
        task = None if config.task is None else config.task.prepare(dataset)
        config = config.model_copy(update={"task": task})
    except InputError as error:
        problems.append(Problem.of(("task",), error))
    problems += _nothing_to_learn_from(config, dataset)
    if problems:
        raise config.document.refusal(problems)
    return config


def _missing_splits(config: RunConfig, dataset: Dataset) -> Iterator[Problem]:
    evaluation = config.evaluation
    if config.task is not None:
        return
    splits: dict[Location, str] = {("evaluation", "split"): evaluation.split}
    if "filter" in evaluation.model_fields_set:
        splits |= {("evaluation", "filter", index): split for index, split in enumerate(evaluation.filter)}
    for location, split in splits.items():
        yield from _refused(location, dataset.split, split)


def _refused(location: Location, check: Callable[[Any], object], value: Any) -> Iterator[Problem]:
    """Yield the problem at a place whose check refuses a value."""
    try:
        check(value)
    except InputError as error:
        yield Problem.of(location, error)


def _impossible_slices(config: RunConfig, dataset: Dataset) -> Iterator[Problem]:
    for index, name in enumerate(config.by or ()):
        if name in slices():
            yield from _refused(("by", index), slices()[name].refuse_unfit, dataset)
        if name == TIME and dataset.times is None:
            yield Problem.of(("by", index), DatasetError(f"dataset {dataset.name} has no times. Leave {TIME} out."))


def _with_negatives(config: RunConfig, dataset: Dataset) -> RunConfig:
    """Read the files of the corruption, and refuse negatives that fit no query."""
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
        corruption.notes(queries, dataset)
    return config.model_copy(update={"evaluation": evaluation.model_copy(update={"corruption": corruption})})


def _nothing_to_learn_from(config: RunConfig, dataset: Dataset) -> Iterator[Problem]:
    inductive = dataset.training_graph is not None
    for name, model in config.jobs.items():
        place: Location = ("models", name) if name else ("model",)
        if model.trains and "train" not in dataset.splits:
            yield Problem(place, f"dataset {dataset.name} has no train triples")
        if isinstance(model, TrainingConfig) and inductive and not scores_new_entities(model.model):
            what = f"{model.model} learns the entities of one graph, and dataset {dataset.name} is inductive"
            yield Problem((*place, "model"), what, "Train one that scores new entities, such as InductiveNodePiece.")
        if isinstance(model, TrainingConfig) and not has_device(model.device):
            what = f"PyKEEN would train on the processor: this machine has no device {model.device!r}"
            yield Problem((*place, "device"), what, "Leave it out, or say cpu.")
        if isinstance(model, Baseline):
            yield from _refused(place, model.check, dataset)
