"""Configurations, read and checked: YAML with overrides becomes a ``RunConfig``, later compared with its dataset.

Commands call ``load_config`` or, for files with several datasets or seeds, ``load_configs``; commands that make a
configuration of their options call ``check``. The runner calls ``check_against_dataset`` before it reads a model. Each
refusal has all problems that were found, with their lines in the file. A check of one value belongs to the settings
class that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kgeval.analysis.slices.slice import slice_of
from kgeval.base.errors import ConfigError, DatasetError, InputError
from kgeval.base.setting_problems import Location, Problem, as_texts, problems_of
from kgeval.data.dataset import Dataset
from kgeval.data.known import known_answers
from kgeval.models.baselines import Baseline
from kgeval.ranking.rank_table import TIME
from kgeval.runs.config.grid import Grid, chosen_parts, is_grid
from kgeval.runs.config.models import RanksConfig, TrainingConfig, has_device, scores_new_entities, wrong_arguments
from kgeval.runs.config.run_config import RunConfig, expand_shorthand
from kgeval.runs.config.yaml_document import Document, read_document
from kgeval.stored.stored_run import StoredRun


def load_config(path: Path, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a configuration file of one dataset, with ``KEY=VALUE`` overrides (dotted keys, YAML values)."""
    return check(_document(path, overrides))


def load_configs(paths: Sequence[Path], overrides: Sequence[str], only: Sequence[str]) -> dict[Path, RunConfig]:
    """Read configuration files. One with several datasets or seeds gives ``FILE/DATASET`` for each dataset."""
    chosen = chosen_parts(only)
    loaded: dict[Path, RunConfig] = {}
    for path in paths:
        document = _document(path, overrides)
        if is_grid(document):
            grid = Grid(document, chosen)
            configs = _check_all(document, grid.expand(), grid.problems)
            loaded |= {path / name: config for name, config in configs.items()}
        elif only:
            raise ConfigError(f"--only: {path} has neither datasets nor seeds. Leave it out.")
        else:
            loaded[path] = check(document)
    return loaded


def _document(path: Path, overrides: Sequence[str]) -> Document:
    document = read_document(path)
    refuse_unrepeatable(document)
    for override in overrides:
        document.override(override, expand_shorthand)
    return document


def refuse_unrepeatable(document: Document) -> None:
    """Refuse the configuration of a run of PyKEEN's evaluator, which names no model to read."""
    if "evaluator" in document.content and "model" not in document.content:
        raise ConfigError(
            f"{document.source}: this run was made inside PyKEEN, and its model was not saved. Save the pipeline's "
            "result with result.save_to_directory('FOLDER'), then run: kgeval evaluate FOLDER --dataset DATASET."
        )


def check(document: Document) -> RunConfig:
    """Check the content of a configuration; its values are not compared with a dataset."""
    return _check_all(document, {"": document})[""]


def _check_all(
    document: Document, parts: Mapping[str, Document], known: Sequence[Problem] = ()
) -> dict[str, RunConfig]:
    """Check the parts of a configuration; refuse it with all of their problems, and with the ``known`` ones."""
    configs, messages = {}, []
    for name, part in parts.items():
        problems = [*_wrong_trainings(part.content)]
        try:
            configs[name] = RunConfig.model_validate(part.content, context={"suite": "suite" in part.content})
            configs[name]._document = part
        except ValidationError as error:
            mistakes = problems_of(error, part.content, RunConfig)
            problems = [*(_with_cure(part.in_file(problem), part) for problem in mistakes), *problems]
        messages += part.told(problem for problem in problems if not _is_told(part.in_file(problem), known))
    if messages or known or document.problems:
        raise document.refusal(known, messages)
    return configs


def _wrong_trainings(content: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the wrong arguments of models to train, which are PyKEEN's: no settings class has them."""
    models = content.get("models")
    blocks: dict[Location, Any] = {("model",): content.get("model")}
    if isinstance(models, dict):
        blocks |= {("models", name): block for name, block in models.items()}
    for place, block in blocks.items():
        if isinstance(block, dict) and block.get("kind") == "pykeen":
            for wrong in wrong_arguments(block):
                yield replace(wrong, location=(*place, *wrong.location))


def _is_told(problem: Problem, known: Sequence[Problem]) -> bool:
    """Whether a problem is of a value that a known problem is of already, or of a block around that value."""
    place = as_texts(problem.location)
    return bool(place) and any(as_texts(other.location)[: len(place)] == place for other in known)


def _with_cure(problem: Problem, document: Document) -> Problem:
    """Add advice to a problem: for a missing path, which folder it is relative to, and how to give another.

    For an unknown name in the configuration of a stored run, the advice is to install the package that has it.
    """
    if document.line(problem) in ("", "--set"):
        return problem
    source = Path(document.source)
    run = StoredRun(source.parent)
    is_stored = run.config_file == source and run.is_complete
    if not problem.no_path:
        lacks = is_stored and problem.offers_names and not run.faults
        return replace(problem, hint="Install the package that has it.") if lacks else problem
    if not is_stored and "Nearby: " in f"{problem.message} {problem.hint}":
        return problem
    where = "in which the run was made. Call kgeval there" if is_stored else "in which you call kgeval. Change it"
    steps = as_texts(problem.location)
    other = "" if any(step.isdecimal() for step in steps) else f", or add --set {'.'.join(steps)}=PATH"
    cure = f"Paths are relative to the folder {where}{other}."
    return replace(problem, hint=f"{problem.hint} {cure}".strip())


def check_against_dataset(config: RunConfig, dataset: Dataset) -> RunConfig:
    """Refuse a configuration whose splits, slices, negatives, task or trainings do not fit the dataset.

    In the returned configuration, the corruption and the task have read their files.
    """
    problems = [*_missing_splits(config, dataset), *_impossible_slices(config, dataset)]
    try:
        config = _with_negatives(config, dataset)
    except DatasetError as error:
        explicit = "corruption" in config.evaluation.model_fields_set
        keys = [key for key in ("path", "types") if getattr(config.evaluation.corruption, key, None) is not None]
        problems.append(Problem.of(("evaluation", "corruption", *keys) if explicit else ("protocol",), error))
    try:
        task = None if config.task is None else config.task.prepare(dataset)
        config = config.model_copy(update={"task": task})
    except InputError as error:
        problems.append(Problem.of(("task",), error))
    problems += _unfit_models(config, dataset)
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


def _impossible_slices(config: RunConfig, dataset: Dataset) -> Iterator[Problem]:
    for index, name in enumerate(config.by or ()):
        if (chosen := slice_of(name, config.groups)) is not None:
            yield from _refused(("by", index), chosen.refuse_unfit, dataset)
        if name == TIME and dataset.times is None:
            yield Problem.of(("by", index), DatasetError(f"dataset {dataset.name} has no times. Leave {TIME} out."))


def _with_negatives(config: RunConfig, dataset: Dataset) -> RunConfig:
    """Read the files of the corruption, and refuse negatives that match no query."""
    evaluation = config.evaluation
    if config.task is not None or evaluation.split not in dataset.splits:
        return config
    corruption = config.resolved_evaluation(dataset).evaluation.corruption
    if not corruption.files and getattr(corruption, "types", None) is None:
        return config
    corruption = corruption.prepare(dataset)
    for side in evaluation.sides:
        queries = corruption.queries(dataset.split(evaluation.split), side)
        if corruption.widths(queries, dataset) is None:  # otherwise they may be too many for the memory
            corruption.choose(queries, known_answers(queries, []), dataset)
        corruption.notes(queries, dataset)
    return config.model_copy(update={"evaluation": evaluation.model_copy(update={"corruption": corruption})})


def _unfit_models(config: RunConfig, dataset: Dataset) -> Iterator[Problem]:
    """Find models that cannot be trained: on this dataset, or on this machine."""
    inductive = dataset.training_graph is not None
    for name, model in config.jobs.items():
        place: Location = ("models", name) if name else ("model",)
        if model.trains and "train" not in dataset.splits:
            yield Problem(place, f"dataset {dataset.name} has no train triples")
        if isinstance(model, RanksConfig) and config.task is not None:
            yield Problem(place, "a task needs the scores of a model, and ranks have none")
        if isinstance(model, TrainingConfig) and inductive and not scores_new_entities(model.model):
            refusal = f"{model.model} only scores entities of train, and dataset {dataset.name} is inductive"
            cure = "Train a model that scores new entities, such as InductiveNodePiece."
            yield Problem((*place, "model"), refusal, cure)
        if isinstance(model, TrainingConfig) and not has_device(model.device):
            refusal = f"this machine has no device {model.device!r}"
            yield Problem((*place, "device"), refusal, "Leave it out, or write cpu.")
        if isinstance(model, Baseline):
            yield from _refused(place, model.check, dataset)


def _refused(location: Location, refuse_unfit: Callable[[Any], object], value: Any) -> Iterator[Problem]:
    """Yield a problem at a location if the value is refused."""
    try:
        refuse_unfit(value)
    except InputError as error:
        yield Problem.of(location, error)
